/** Where secrets stand in a text, and in which form. */
import { DEEPEST, type Encoding, ENCODINGS, FITTING, inUrls, kindOf, readBy, type Reader, READERS, type SecretForm, type TextOf, wrappingsOf, written } from './secret-forms.ts'

/** A text as it is, or with its escapes read, again and again. */
export interface ReadText {
  readonly text: string
  /** By what it was read, the outermost first. */
  readonly readers: readonly Reader[]
  /** Where in the text as it is a place stands. */
  readonly origin: (at: number) => number
}

/** In all ways that give another text, first as JSON: of two that give the same it is the one that is meant. `hasSpace`: a space counts, so that `+` may be one. */
export function* readingsOf(text: string, hasSpace: boolean): Generator<ReadText> {
  yield* furtherReadings({ text, readers: [], origin: (at) => at }, hasSpace, new Set([text]))
}

function* furtherReadings(reading: ReadText, hasSpace: boolean, seen: Set<string>): Generator<ReadText> {
  yield reading
  const { text, readers, origin } = reading
  if (readers.at(-1) === 'pattern') return
  for (const reader of READERS) {
    const kind = kindOf(reader)
    if ((reader === 'form' && !hasSpace) || readers.filter((each) => kindOf(each) === kind).length >= DEEPEST[kind]) continue
    const inner = readBy(reader, text)
    // The source of a RegExp that is read as JSON first, by chance, must not hide that it is one.
    if (!inner || (reader !== 'pattern' && seen.has(inner.text))) continue
    if (reader !== 'pattern') seen.add(inner.text)
    yield* furtherReadings({ text: inner.text, readers: [...readers, reader], origin: (at) => origin(inner.origin(at)) }, hasSpace, seen)
  }
}

/** One way to read what stands at a place. */
export interface Reading {
  readonly encoding: Encoding
  readonly readers: readonly Reader[]
}

export interface Stands {
  readonly start: number
  readonly end: number
  readonly name: string
  readonly readings: readonly Reading[]
  /** How much of it stands before `start`, where that is the end of the one before; absent: nothing. */
  readonly from?: number
}

/**
 * In order, and together all places at which one stands, each once. Where one is a part of another, the longer one is meant; where one begins in another, it is the
 * rest of it.
 */
export function covering(found: readonly Stands[]): Stands[] {
  const kept: Stands[] = []
  let covered = 0
  /**
   * Of those that begin where it is covered, the one that ends last; of such that end there too the one right behind what is covered, else the longest: in JSON
   * text another reading of the same secret begins behind a backslash that belongs to it.
   */
  let next: Stands | undefined
  const keep = (stands: Stands): void => {
    kept.push(stands.start < covered ? { ...stands, start: covered, from: covered - stands.start } : stands)
    covered = stands.end
    next = undefined
  }
  for (const stands of merged(found)) {
    if (next && stands.start > covered) keep(next)
    if (stands.end <= covered) continue
    if (stands.start > covered) keep(stands)
    else if (next === undefined || stands.end > next.end || (stands.end === next.end && stands.start === covered)) next = stands
  }
  if (next) keep(next)
  return kept
}

/** By their beginnings, the longest first; what is one secret at one place once, with all its readings. */
function merged(found: readonly Stands[]): Stands[] {
  const sorted: Stands[] = []
  for (const stands of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = sorted.at(-1)
    if (last?.start === stands.start && last.end === stands.end) {
      if (last.name === stands.name) sorted[sorted.length - 1] = { ...last, readings: [...last.readings, ...stands.readings] }
    } else sorted.push(stands)
  }
  return sorted
}

/**
 * In which form a secret stands there: of the readings of `text` the one under which another value fits best.
 *
 * @param text All of it, also where it begins in another.
 * @param depth In how many JSON texts it stands.
 * @param urls In how many URLs within them.
 */
export function formOf({ readings }: Stands, value: string, text: string, of: TextOf, depth: number, urls: number): SecretForm {
  // What reads the same in a text, in a URL and in JSON now need not do so under another value.
  const inJson = wrappingsOf(text, Array.from({ length: Math.min(depth, DEEPEST.json) }, () => 'json'))
  const fitting = [...(urls > 0 ? inUrls(urls) : []), ...FITTING[of]].map((form): SecretForm => ({ ...form, wrappings: [...form.wrappings, ...inJson] }))
  const fits = fitting.find((form) => written(value, form) === text)
  if (fits !== undefined) return fits
  const forms = readings.map(({ encoding, readers }): SecretForm => ({ encoding, wrappings: wrappingsOf(text, readers) }))
  return forms.toSorted((a, b) => rankOf(a, of, depth) - rankOf(b, of, depth))[0]!
}

const PREFERRED: readonly (Encoding | 'uri')[] = ['', 'uri', ...ENCODINGS.slice(1)]
const PATTERNS = FITTING.RegExp.map(({ encoding }) => encoding)

/** The lower, the better. */
function rankOf({ encoding, wrappings }: SecretForm, of: TextOf, depth: number): number {
  const inside = wrappings.slice(0, wrappings.findLastIndex(({ by }) => by !== 'json') + 1)
  const level = wrappings.length - inside.length
  const isUri = encoding === '' && inside.length === 1 && inside[0]!.codes === ''
  const how = inside.length === 0 || isUri ? PREFERRED.indexOf(isUri ? 'uri' : encoding) : PREFERRED.length * inside.length
  const far = level === depth ? 0 : level + 1
  // JSON text in a URL: where it can be read otherwise, it is by chance.
  const isOdd = inside.some(({ by }) => by === 'json')
  return how + 100 * far + (isOdd ? 500 : 0) + 1000 * ((PATTERNS.includes(encoding) || wrappings[0]?.by === 'pattern') === (of === 'RegExp') ? 0 : 1)
}
