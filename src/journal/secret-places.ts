/** Where secrets stand in a text, and in which form. */
import { spellingOf, unescaped } from './json-escapes.ts'
import { DEEPEST, type Encoding, FITTING, type SecretForm, type TextOf, written } from './secret-forms.ts'

/** One reading of what stands at a place. */
export interface Reading {
  readonly encoding: Encoding
  /** How often JSON's escapes were read until it was seen. */
  readonly level: number
}

export interface Stands {
  readonly start: number
  readonly end: number
  readonly name: string
  readonly readings: readonly Reading[]
}

/** In order, each place once; where one is a part of another, the longer one is meant. */
export function withoutOverlaps(found: readonly Stands[]): Stands[] {
  const kept: Stands[] = []
  for (const stands of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1)
    if (last === undefined || last.end <= stands.start) kept.push(stands)
    else if (last.start === stands.start && last.end === stands.end && last.name === stands.name) kept[kept.length - 1] = { ...last, readings: [...last.readings, ...stands.readings] }
  }
  return kept
}

/**
 * In which form a secret stands there: of the readings of `text` the one under which another value fits best.
 *
 * @param depth In how many JSON texts it stands.
 */
export function formOf({ readings }: Stands, value: string, text: string, of: TextOf, depth: number): SecretForm {
  const fitting = FITTING[of].find((encoding) => written(value, { encoding, json: [] }) === text)
  if (fitting !== undefined) return { encoding: fitting, json: [] }
  // What reads the same in a text and in JSON now need not do so under another value.
  const inJson: SecretForm = { encoding: '', json: spellings(text, Math.min(depth, DEEPEST)) }
  if (of === 'text' && written(value, inJson) === text) return inJson
  const rank = ({ encoding, level }: Reading): number => (FITTING.RegExp.includes(encoding) === (of === 'RegExp') ? 0 : 2 * DEEPEST + 2) + (level === depth ? 0 : level + 1)
  const { encoding, level } = readings.toSorted((a, b) => rank(a) - rank(b))[0]!
  return { encoding, json: spellings(text, level) }
}

/** The innermost first. */
function spellings(text: string, level: number): string[] {
  if (level === 0) return []
  const inner = unescaped(text)?.text ?? text
  return [...spellings(inner, level - 1), spellingOf(inner, text)]
}
