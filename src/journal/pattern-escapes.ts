/** Backslashes in the source of a RegExp, read and written one by one: programs do not agree on which characters they write so (`-` as `\-`, `=` as `\=`). */
import { type Unescaped, unescapedBy } from './escapes.ts'

/** One before what is no letter and no digit; and the ends of lines, which a source never holds as they are. */
const ESCAPE = /\\(?:[ -/:-@[-`{-~]|[nr]|u202[89])/g
const LINE_ENDS: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\u2028': String.raw`\u2028`, '\u2029': String.raw`\u2029` }
const READ = new Map(Object.entries(LINE_ENDS).map(([char, escape]) => [escape, char]))

/** A text in which they were read. Undefined: there is none in it. */
export const unescapedPattern = (source: string): Unescaped | undefined =>
  source.includes('\\') ? unescapedBy(source, ESCAPE, (escape) => READ.get(escape) ?? escape[1]!) : undefined

/** What means something in a pattern. */
const isSyntax = (char: string): boolean => /[\\^$.*+?()[\]{}|/]/.test(char) || char in LINE_ENDS

const escaped = (char: string): string => LINE_ENDS[char] ?? `\\${char}`

/**
 * How a text is written where that is not with a backslash before each character of syntax, and no other: `E` and four hexadecimal digits a character that has one, `R`
 * one that has none, as it is first met; then `e` or `r` and the index of one of which that is not so. '' where nothing is so.
 *
 * @param source What was read as `text`, and `origin` how.
 */
export function patternSpellingOf(text: string, source: string, origin: Unescaped['origin']): string {
  const habits = new Map<string, boolean>()
  const exceptions: string[] = []
  for (const [i, char] of text.split('').entries()) {
    const isEscaped = source.slice(origin(i), origin(i + 1)) !== char
    if (!habits.has(char)) habits.set(char, isEscaped)
    else if (habits.get(char) !== isEscaped) exceptions.push(`${isEscaped ? 'e' : 'r'}${i}`)
  }
  const rules = [...habits].filter(([char, isEscaped]) => isEscaped !== isSyntax(char)).map(([char, isEscaped]) => `${isEscaped ? 'E' : 'R'}${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return [...rules.sort(), ...exceptions].join('')
}

const RULE = /([ER])([0-9a-f]{4})|([er])(\d+)/g

/** The text with its backslashes, written as {@link patternSpellingOf} says, which may be of another one: what was done with a character there is done with it here. */
export function patternWrittenAs(text: string, codes: string): string {
  const habits = new Map<string, boolean>()
  const exceptions = new Map<number, boolean>()
  for (const [, rule, hex, letter, index] of codes.matchAll(RULE)) {
    if (rule !== undefined) habits.set(String.fromCharCode(Number.parseInt(hex!, 16)), rule === 'E')
    else exceptions.set(Number(index), letter === 'e')
  }
  return text.split('').map((char, i) => ((exceptions.get(i) ?? habits.get(char) ?? isSyntax(char)) ? escaped(char) : char)).join('')
}
