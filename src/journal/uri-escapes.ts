/**
 * Percent escapes in a text, read and written one by one: programs agree neither on which characters they write so, nor on the case of the digits, nor on
 * how they write a space.
 */
import { Buffer } from 'node:buffer'
import { capitalsOf, type Unescaped, unescapedBy, withCapitals } from './escapes.ts'

/** The bytes of one character in UTF-8. */
const ESCAPE = /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-4](?:%[89ab][0-9a-f]){3}/gi
const ESCAPE_OR_PLUS = new RegExp(`${ESCAPE.source}|\\+`, 'gi')

/** A text in which the escapes were read. Undefined: there is none in it. */
export const unescapedUri = (source: string): Unescaped | undefined => (source.includes('%') ? unescapedBy(source, ESCAPE, read) : undefined)

/** The same where a space is written as `+`, as forms do. */
export const unescapedForm = (source: string): Unescaped | undefined => (source.includes('+') ? unescapedBy(source, ESCAPE_OR_PLUS, (escape) => (escape === '+' ? ' ' : read(escape))) : undefined)

function read(escape: string): string {
  if (escape.length === 3) return String.fromCharCode(Number.parseInt(escape.slice(1), 16))
  try {
    return decodeURIComponent(escape)
  } catch {
    return escape
  }
}

/** What a program does with a character wherever it stands. */
interface Habits {
  isLower: boolean
  hasPlus: boolean
  /** Also letters and digits, and what else encodeURIComponent leaves. */
  escapesAll: boolean
  /** Characters that are not ASCII stand as they are. */
  keepsOthers: boolean
  /** Characters of ASCII that stand as they are, and such that do not, against the above; no letters and digits: those would be told with them. */
  readonly kept: Set<string>
  readonly escaped: Set<string>
}

const newHabits = (): Habits => ({ isLower: false, hasPlus: false, escapesAll: false, keepsOthers: false, kept: new Set(), escaped: new Set() })

/**
 * How a text is written where that is not as encodeURIComponent does. First what holds for all of it: `L` digits in lower case, `P` a space as `+`, `A` all that
 * is ASCII escaped, `N` what is not as it is, `R` and two digits a character as it is, `E` and two digits one that is escaped. Then a letter and an index for each character of which that
 * is not so: `r` as it is, `p` as `+`, `u` and `l` escaped in upper or lower case, `m` in both, with `x` and which of its digits are capitals. '' where nothing is so.
 *
 * @param source What was read as `text`, and `origin` how.
 */
export function uriSpellingOf(text: string, source: string, origin: Unescaped['origin']): string {
  const chars = [...piecesOf(text, source, origin)]
  const habits = habitsOf(chars)
  const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(2, '0')
  const rules = [
    habits.isLower ? 'L' : '', habits.hasPlus ? 'P' : '', habits.escapesAll ? 'A' : '', habits.keepsOthers ? 'N' : '',
    ...[...habits.kept].sort().map((char) => `R${hex(char)}`), ...[...habits.escaped].sort().map((char) => `E${hex(char)}`),
  ]
  return [...rules, ...chars.map(({ char, stands, index }) => (usual(char, habits) === stands ? '' : exception(char, stands, index)))].join('')
}

interface Piece {
  readonly char: string
  /** What is written for it. */
  readonly stands: string
  readonly index: number
}

function* piecesOf(text: string, source: string, origin: Unescaped['origin']): Generator<Piece> {
  let index = 0
  for (const char of text) {
    yield { char, stands: source.slice(origin(index), origin(index + char.length)), index }
    index += char.length
  }
}

/** By what is done with a character first. */
function habitsOf(pieces: readonly Piece[]): Habits {
  const habits = newHabits()
  const seen = new Set<string>()
  habits.escapesAll = pieces.find(({ char }) => isWord(char))?.stands.startsWith('%') === true
  habits.isLower = /[a-f]/.test(pieces.find(({ stands }) => stands.startsWith('%') && /[a-f]/i.test(stands))?.stands ?? '')
  for (const { char, stands } of pieces) {
    const kind = char > '\u007f' ? 'others' : char
    if (seen.has(kind) || isWord(char)) continue
    seen.add(kind)
    const isKept = stands === char
    if (kind === 'others') habits.keepsOthers = isKept
    else if (char === ' ' && stands === '+') habits.hasPlus = true
    else if (isKept !== (isPlain(char) && !habits.escapesAll)) (isKept ? habits.kept : habits.escaped).add(char)
  }
  return habits
}

function exception(char: string, stands: string, index: number): string {
  if (stands === char) return `r${index}`
  if (stands === '+') return `p${index}`
  const capitals = capitalsOf(digitsOf(stands))
  if (stands === escapeOf(char)) return `u${index}`
  return capitals === 0 ? `l${index}` : `m${index}x${capitals}`
}

function usual(char: string, { isLower, hasPlus, escapesAll, keepsOthers, kept, escaped }: Habits): string {
  if (char === ' ' && hasPlus) return '+'
  const isKept = !escaped.has(char) && (kept.has(char) || (char > '\u007f' ? keepsOthers || !char.isWellFormed() : isPlain(char) && !escapesAll))
  if (isKept) return char
  return isLower ? escapeOf(char).toLowerCase() : escapeOf(char)
}

const isWord = (char: string): boolean => /[A-Za-z0-9]/.test(char)
/** What encodeURIComponent leaves. */
const isPlain = (char: string): boolean => /[\w.!~*'()-]/.test(char)

/** Half a character has none. */
const escapeOf = (char: string): string => (char.isWellFormed() ? escapeFrom(Buffer.from(char).toString('hex').toUpperCase()) : char)
const escapeFrom = (digits: string): string => digits.replaceAll(/../g, '%$&')
const digitsOf = (escape: string): string => escape.replaceAll('%', '')

const FLAGS: Readonly<Record<string, 'isLower' | 'hasPlus' | 'escapesAll' | 'keepsOthers'>> = { L: 'isLower', P: 'hasPlus', A: 'escapesAll', N: 'keepsOthers' }
const RULE = /([LPAN])|([RE])([0-9a-f]{2})|([rpulm])(\d+)(?:x(\d+))?/g

/** The text with escapes, written as {@link uriSpellingOf} says, which may be of another one: what was done with a character there is done with it here. */
export function uriWrittenAs(text: string, codes: string): string {
  const habits = newHabits()
  const exceptions = new Map<number, readonly [letter: string, capitals: number]>()
  for (const [, flag, rule, hex, letter, index, capitals] of codes.matchAll(RULE)) {
    if (flag !== undefined) habits[FLAGS[flag]!] = true
    else if (rule !== undefined) (rule === 'R' ? habits.kept : habits.escaped).add(String.fromCharCode(Number.parseInt(hex!, 16)))
    else exceptions.set(Number(index), [letter!, Number(capitals)])
  }
  let written = ''
  let index = 0
  for (const char of text) {
    written += spelled(char, habits, ...(exceptions.get(index) ?? ['', 0]))
    index += char.length
  }
  return written
}

function spelled(char: string, habits: Habits, letter: string, capitals: number): string {
  switch (letter) {
    case 'r': return char
    case 'p': return char === ' ' ? '+' : usual(char, habits)
    case 'u': return escapeOf(char)
    case 'l': return escapeOf(char).toLowerCase()
    case 'm': return escapeFrom(withCapitals(digitsOf(escapeOf(char)), capitals))
    default: return usual(char, habits)
  }
}
