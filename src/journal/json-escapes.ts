/** JSON's escapes in a text, read and written one by one: programs write the same text in many ways (`/` as `\/`, `&` as `\u0026`, `ä` as `\u00e4`). */
import { capitalsOf, type Unescaped, unescapedBy, withCapitals } from './escapes.ts'

const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g
const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** A text as JSON.stringify has it between the quotes. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** A text in which the escapes were read, whether or not it is JSON. Undefined: there is no escape in it. */
export const unescaped = (source: string): Unescaped | undefined => (source.includes('\\') ? unescapedBy(source, ESCAPE, read) : undefined)

const read = (escape: string): string => (escape[1] === 'u' ? String.fromCharCode(Number.parseInt(escape.slice(2), 16)) : (SHORT[escape[1]!] ?? escape[1]!))

/**
 * How a text is written where that is not as JSON.stringify does: for each such character a letter and its index. `u`, `U`: by its number, in lower or upper
 * case; `m`: in both, with `x` and which of its digits are capitals; `s`: as `\/`; `r`: as it is, which JSON does not allow. '' where nothing is so.
 *
 * @param source What was read as `text`, and `origin` how.
 */
export const spellingOf = (text: string, source: string, origin: Unescaped['origin']): string =>
  text.split('').map((unit, i) => codeOf(unit, source.slice(origin(i), origin(i + 1)), i)).join('')

function codeOf(unit: string, stands: string, index: number): string {
  const code = ['', 'u', 'U', 's', 'r'].find((letter) => spelled(unit, letter) === stands)
  return code === undefined ? `m${index}x${capitalsOf(stands.slice(2))}` : code === '' ? '' : `${code}${index}`
}

/** The text as JSON, written as {@link spellingOf} says. It is JSON of the same text also where that was of another one. */
export function writtenAs(text: string, codes: string): string {
  const letters = new Map([...codes.matchAll(/([uUsrm])(\d+)(?:x(\d+))?/g)].map(([, letter, index, capitals]) => [Number(index), [letter!, Number(capitals)] as const]))
  return letters.size === 0 ? inJson(text) : text.split('').map((unit, i) => spelled(unit, ...(letters.get(i) ?? (['', 0] as const)))).join('')
}

function spelled(unit: string, letter: string, capitals = 0): string {
  const code = unit.charCodeAt(0)
  const hex = code.toString(16).padStart(4, '0')
  if (letter === 'u') return `\\u${hex}`
  if (letter === 'U') return `\\u${hex.toUpperCase()}`
  if (letter === 'm') return `\\u${withCapitals(hex, capitals)}`
  if (letter === 'r' || (code >= 0xd800 && code <= 0xdfff)) return unit
  return letter === 's' && unit === '/' ? '\\/' : inJson(unit)
}

const LITERAL = /"(?:[^"\\]|\\.)*"/gs

/** Tells of a place in a text in how many JSON texts it stands, each a text inside the one around it. Each place asked for is behind the one before. */
export function depths(text: string): (at: number) => number {
  if (!isJson(text)) return () => 0
  const literals = text.matchAll(LITERAL)
  let literal = literals.next().value
  /** Of the text of the literal, where that is JSON again; and up to where, here and there, places were asked for. */
  let inside: { readonly depth: (at: number) => number; from: number; read: number } | undefined
  const enter = (): void => {
    const content = literal === undefined ? undefined : parsed(literal[0])
    inside = typeof content === 'string' && isJson(content) ? { depth: depths(content), from: literal!.index + 1, read: 0 } : undefined
  }
  enter()
  return (at) => {
    while (literal !== undefined && literal.index + literal[0].length <= at) {
      literal = literals.next().value
      enter()
    }
    if (literal === undefined || at <= literal.index) return 0
    if (inside === undefined) return 1
    const more = parsed(`"${text.slice(inside.from, at)}"`)
    if (typeof more !== 'string') return 1
    inside.read += more.length
    inside.from = at
    return 1 + inside.depth(inside.read)
  }
}

/** Whether a text is JSON that can hold one, such as the arguments of a tool call as a model writes them. */
const isJson = (text: string): boolean => /^\s*[[{"]/.test(text) && parsed(text) !== undefined

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
