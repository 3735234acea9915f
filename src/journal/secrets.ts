/**
 * Named secrets (R14): what is stored has their names, what the run sees has their values. Identities (fingerprints, keys, ids) are made
 * of the names, so that a secret that was changed in the meantime changes nothing that was recorded.
 */
import { HoldfastError } from '../errors.ts'
import { isPattern } from './flat-part.ts'
import { asTexts, changeData, changeTexts, type Change } from './record-data.ts'
import { depths, inJson, unescaped } from './json-escapes.ts'
import { type Encoding, encodedAs, ENCODINGS, formNamed, nameOfForm, type SecretForm, type TextOf, written, writtenSafely } from './secret-forms.ts'
import { urlsAround } from './urls-around.ts'
import { covering, formOf, readingsOf, type Stands } from './secret-places.ts'

/** Shorter ones occur by chance, or can be guessed from what is left around them. */
export const MIN_SECRET_LENGTH = 8

const NAME = /^[A-Za-z][\w.-]{0,63}$/
const OPENING = '{{secret:'
const CLOSING = '}}'
const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/** A record in which secrets were replaced says how their placeholders begin: in no other text of it do those characters stand. */
interface Sealed {
  readonly secrets?: unknown
}

export class Secrets {
  readonly #values: ReadonlyMap<string, string>
  /** By each text that stands for one. */
  readonly #known = new Map<string, { readonly name: string; readonly encodings: Encoding[] }>()
  /** In a text; and in JSON text, where it is written once more. */
  readonly #inText: RegExp
  readonly #inBody: RegExp
  /** What else in JSON text tells that one may stand in a text, with escapes. */
  readonly #escapes: RegExp
  readonly #hasSpace: boolean

  private constructor(values: ReadonlyMap<string, string>) {
    this.#values = values
    this.#hasSpace = [...values.values()].some((value) => value.includes(' '))
    this.#escapes = this.#hasSpace ? /\\\\|%[0-9a-f]{2}|\+/i : /\\\\|%[0-9a-f]{2}/i
    for (const encoding of ENCODINGS) {
      for (const [name, value] of values) {
        const text = encodedAs(value, encoding)
        // Of "/../" and the like a URL leaves nothing that stands for it.
        if (text.length < value.length) continue
        const known = this.#known.get(text)
        if (!known) this.#known.set(text, { name, encodings: [encoding] })
        else if (known.name === name) known.encodings.push(encoding)
      }
    }
    // Where one is a part of another, the longer one is meant.
    const texts = [...this.#known.keys()].sort((a, b) => b.length - a.length)
    this.#inText = new RegExp(texts.map(escaped).join('|'), 'g')
    this.#inBody = new RegExp(texts.map((text) => escaped(inJson(text))).join('|'))
  }

  /**
   * @param given Values by name, as `createRunner({ secrets })` takes them; undefined where there are none.
   * @throws HoldfastError `INVALID_OPTIONS`, which never shows a value.
   */
  static of(given: unknown): Secrets | undefined {
    if (given === undefined) return undefined
    if (typeof given !== 'object' || given === null || Array.isArray(given)) throw invalid('secrets must be an object of texts by name, such as { STRIPE_KEY: process.env.STRIPE_KEY }')
    const values = new Map<string, string>()
    for (const [name, value] of Object.entries(given as Readonly<Record<string, unknown>>)) {
      if (!NAME.test(name)) throw invalid(`secrets: ${JSON.stringify(name)} cannot be a name`, 'Use a letter, then up to 63 letters, digits and . _ -')
      if (typeof value !== 'string') throw invalid(`secrets.${name} must be a text, got ${value === undefined ? 'undefined: is its environment variable set?' : typeof value}`)
      if (value.length < MIN_SECRET_LENGTH) throw invalid(`secrets.${name} has ${value.length} characters, at least ${MIN_SECRET_LENGTH} are needed`, 'A shorter text occurs by chance: it would be replaced where it means something else')
      if (!value.isWellFormed()) throw invalid(`secrets.${name} holds half a character (a lone surrogate)`)
      const [other] = [...values].find(([, before]) => before === value) ?? []
      if (other !== undefined) throw invalid(`secrets.${name} has the same value as secrets.${other}`, 'Give each value one name')
      values.set(name, value)
    }
    return values.size === 0 ? undefined : new Secrets(values)
  }

  /** The text with names in place of values, for people, and for what something is known by: without the form, which depends on the value. */
  hide(text: string): string {
    return replaced(text, this.#find(text), ({ name }) => `${OPENING}${name}${CLOSING}`)
  }

  /** Whether it holds the value of one. Which one, or undefined. */
  nameIn(text: string): string | undefined {
    return this.#find(text)[0]?.name
  }

  /**
   * What stands before the first secret, its name, what stands behind it, and so on; undefined: it holds none. So it counts in a
   * fingerprint. The form does not: under another value, two forms may be one.
   */
  parts(text: string): readonly string[] | undefined {
    const found = this.#find(text)
    if (found.length === 0) return undefined
    return [...found.flatMap(({ start, name }, i) => [text.slice(found[i - 1]?.end ?? 0, start), name]), text.slice(found.at(-1)!.end)]
  }

  /** The record as text to be stored, with names in place of values. */
  seal(record: object): string {
    const body = JSON.stringify(record)
    if (!this.#isIn(body)) return body
    const opening = freeOpening(body)
    const data: Change = { encoded: (value) => changeTexts(value, (text, of) => this.#replaced(text, opening, of)), text: (text) => this.#replaced(text, opening) }
    return JSON.stringify({ ...changeData(record, data), secrets: opening })
  }

  value(name: string): string | undefined {
    return this.#values.get(name)
  }

  /** Whether the JSON text of a record may hold one. What JSON escapes in a text that has no escapes itself, the expression has too. */
  #isIn(body: string): boolean {
    return this.#inBody.test(body) || (this.#escapes.test(body) && this.#find(unescaped(body)?.text ?? body).length > 0)
  }

  /** Where in a text they stand: as they are, and where its escapes are read, again and again. */
  #find(text: string): Stands[] {
    const found: Stands[] = []
    for (const { text: read, readers, origin } of readingsOf(text, this.#hasSpace)) {
      for (const { 0: match, index } of everyMatch(this.#inText, read)) {
        const { name, encodings } = this.#known.get(match)!
        found.push({ start: origin(index), end: origin(index + match.length), name, readings: encodings.map((encoding) => ({ encoding, readers })) })
      }
    }
    return covering(found)
  }

  #replaced(text: string, opening: string, of: TextOf = 'text'): string {
    const found = this.#find(text)
    if (found.length === 0) return text
    const depth = of === 'text' ? depths(text) : () => 0
    return replaced(text, found, (stands) => {
      const whole = text.slice(stands.start - (stands.from ?? 0), stands.end)
      const inJson = depth(stands.start)
      const urls = of === 'text' ? urlsAround(text, stands.end - whole.length, stands.end, inJson) : 0
      const form = nameOfForm({ ...formOf(stands, this.#values.get(stands.name)!, whole, of, inJson, urls), ...(stands.from !== undefined && { from: stands.from }) })
      return `${opening}${stands.name}${form === '' ? '' : `|${form}`}${CLOSING}`
    })
  }
}

function replaced(text: string, found: readonly Stands[], placeholder: (stands: Stands) => string): string {
  let shown = ''
  let from = 0
  for (const stands of found) {
    shown += text.slice(from, stands.start) + placeholder(stands)
    from = stands.end
  }
  return shown + text.slice(from)
}

/**
 * A record that was read, with values in place of names.
 *
 * @throws HoldfastError `SECRET_MISSING` with the names of those that are not given; `STORE_CORRUPT`.
 */
export function unsealed<R extends object>(runId: string, record: R, secrets: Secrets | undefined): R {
  if ((record as Sealed).secrets === undefined) return record
  const { secrets: opening, ...rest } = record as R & Sealed
  if (typeof opening !== 'string') throw new HoldfastError('STORE_CORRUPT', `a record of run "${runId}" does not say how its secrets are written`, { runId })
  const missing = new Set<string>()
  const pattern = placeholders(opening)
  let unknown: string | undefined
  const unfit = new Map<string, Misfit>()
  const put = (text: string, write: (value: string, form: SecretForm) => string = written): string => {
    let whole = ''
    let from = 0
    for (const { 0: placeholder, 1: name, 2: formName = '', index } of text.matchAll(pattern)) {
      const [value, form] = [secrets?.value(name!), formNamed(formName)]
      if (value === undefined) missing.add(name!)
      else if (form === undefined) unknown ??= `{{secret:${name!}|${formName}}}`
      whole += text.slice(from, index)
      whole += value === undefined || form === undefined ? placeholder : restOf(write(value, form), form, whole)
      from = index + placeholder.length
    }
    return whole + text.slice(from)
  }
  const misfit = (texts: readonly string[], of: Misfit): void => {
    for (const [, name] of texts.join('').matchAll(pattern)) unfit.set(name!, of)
  }
  const putIn = (text: string, of: TextOf, flags: string): string => {
    const whole = put(text)
    if (of === 'text' || missing.size > 0 || canMake(whole, of, flags)) return whole
    const safer = put(text, (value) => writtenSafely(value, of))
    if (!canMake(safer, of, flags)) misfit([text], of)
    return safer
  }
  const clash = (keys: readonly string[]): void => misfit(keys, 'key')
  const whole = changeData(rest, { encoded: (value) => changeTexts(value, putIn, clash), text: (text) => put(text) })
  if (missing.size > 0) throw missingSecrets(runId, [...missing])
  if (unknown !== undefined) throw unknownForm(runId, unknown)
  const [first] = unfit
  if (first) throw misfitSecret(runId, ...first)
  return whole as R
}

/** What is not there yet of a secret: under other values the one before need not end as this one begins. */
const restOf = (text: string, { from = 0 }: SecretForm, before: string): string => (before.endsWith(text.slice(0, from)) ? text.slice(from) : text)

/** Also those that begin inside of another. */
function* everyMatch(pattern: RegExp, text: string): Generator<RegExpExecArray> {
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    yield match
    pattern.lastIndex = match.index + 1
  }
}

const placeholders = (opening: string): RegExp => new RegExp(`${escaped(opening)}([A-Za-z][\\w.-]{0,63})(?:\\|([\\w-]+))?${escaped(CLOSING)}`, 'g')

/** Names of the secrets that a record holds, as it is stored. */
export function namesIn(record: object): string[] {
  const { secrets: opening } = record as Sealed
  return typeof opening === 'string' ? [...new Set([...JSON.stringify(record).matchAll(placeholders(opening))].map(([, name]) => name!))] : []
}

/** A record as who has no values can decode it: a URL or RegExp with a placeholder in it need be none, and is a text. */
export function legible<R extends object>(record: R): R {
  const { secrets: opening } = record as Sealed
  if (typeof opening !== 'string') return record
  return changeData(record, { encoded: (value) => asTexts(value, (text) => text.includes(opening)), text: (text) => text })
}

const canMake = (text: string, of: Exclude<TextOf, 'text'>, flags: string): boolean => (of === 'URL' ? URL.canParse(text) : isPattern(text, flags))

/** What would be damaged under another value: `key` also of a Map, or an item of a Set. */
type Misfit = TextOf | 'key'

function misfitSecret(runId: string, name: string, of: Misfit): HoldfastError {
  const what = of === 'key' ? 'is one that stands there already' : 'is none'
  return new HoldfastError('SECRET_MISSING', `run "${runId}" holds a ${of} with the secret ${name} in it, and with the value that is given now it ${what}`, {
    runId, advice: 'Nothing is damaged. Give the value that it had when the run recorded it',
  })
}

function unknownForm(runId: string, placeholder: string): HoldfastError {
  return new HoldfastError('STORE_CORRUPT', `a record of run "${runId}" holds ${placeholder.slice(0, 200)}: how that secret is written there is not known`, {
    runId, advice: 'The record was changed by something else, or written by a newer version of Holdfast; nothing was overwritten',
  })
}

function missingSecrets(runId: string, names: readonly string[]): HoldfastError {
  const [what, them] = names.length === 1 ? ['the secret', 'it'] : ['the secrets', 'them']
  return new HoldfastError('SECRET_MISSING', `run "${runId}" holds ${what} ${names.join(', ')}, and its runner was not given ${them}`, {
    runId, advice: `Add ${them} to createRunner({ secrets: { ${names.join(', ')} } }); the value may have changed since`,
  })
}

/** One that stands nowhere in the text yet: what looks like a placeholder by chance is none. */
function freeOpening(body: string): string {
  for (let i = 1, opening = OPENING; ; opening = `{{secret-${++i}:`) if (!body.includes(opening)) return opening
}

const invalid = (message: string, advice?: string): HoldfastError => new HoldfastError('INVALID_OPTIONS', message, advice === undefined ? {} : { advice })
