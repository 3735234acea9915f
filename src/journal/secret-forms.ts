/** How a secret stands in texts: as it is, and as the encodings that data meets on its way write it. */
import { Buffer } from 'node:buffer'
import { spellingOf, unescaped, writtenAs } from './json-escapes.ts'
import type { Unescaped } from './escapes.ts'
import { patternSpellingOf, patternWrittenAs, unescapedPattern } from './pattern-escapes.ts'
import { unescapedForm, unescapedUri, uriSpellingOf, uriWrittenAs } from './uri-escapes.ts'

/**
 * How the value itself is written. `user`, `path`, `query`, `form`: as a URL writes these parts of it. Of the source of a RegExp: `regexp` where all that means
 * something is escaped, `regexpx` where `-` is too, `escape` as `RegExp.escape` does it, `source` where nothing is but what `new RegExp` escapes. `base64`:
 * by itself, standard alphabet, `base64raw` without `=`; `base64url` in that of URLs, without `=`, `base64urlpad` with.
 */
export type Encoding = '' | 'user' | 'path' | 'query' | 'form' | 'regexp' | 'regexpx' | 'escape' | 'source' | 'base64' | 'base64url' | 'base64raw' | 'base64urlpad'

/** What the text was put into: JSON text, a URL with percent escapes, a RegExp; `codes` say how that is written ({@link spellingOf}, {@link uriSpellingOf}, {@link patternSpellingOf}). */
export interface Wrapping {
  readonly by: 'json' | 'uri' | 'pattern'
  readonly codes: string
}

export interface SecretForm {
  readonly encoding: Encoding
  /** The innermost first. */
  readonly wrappings: readonly Wrapping[]
  /** It begins behind that many characters of it: those before are the end of a secret that stands there, and are not written twice. */
  readonly from?: number
}

/** How a text is read, to find out what is inside of it. `form`: as `uri`, with `+` for a space. `pattern`: the innermost, if it is one. */
export type Reader = 'json' | 'uri' | 'form' | 'pattern'

/** Deeper inside of each other nobody writes texts of a kind. */
export const DEEPEST = { json: 3, uri: 3, pattern: 1 } as const

const READ: Readonly<Record<Reader, (source: string) => Unescaped | undefined>> = { json: unescaped, uri: unescapedUri, form: unescapedForm, pattern: unescapedPattern }
export const READERS = Object.keys(READ) as Reader[]
export const kindOf = (reader: Reader): Wrapping['by'] => (reader === 'form' ? 'uri' : reader)

/** Undefined: there is nothing to be read so in it. */
export const readBy = (reader: Reader, source: string): Unescaped | undefined => READ[reader](source)

/** How a text is wrapped, the innermost first. `readers`: the outermost first. */
export function wrappingsOf(source: string, [outer, ...inner]: readonly Reader[]): Wrapping[] {
  if (outer === undefined) return []
  const { text, origin } = readBy(outer, source) ?? { text: source, origin: (at: number): number => at }
  const by = kindOf(outer)
  return [...wrappingsOf(text, inner), { by, codes: SPELLING[by](text, source, origin) }]
}

const SPELLING = { json: spellingOf, uri: uriSpellingOf, pattern: patternSpellingOf } as const
const WRITE = { json: writtenAs, uri: uriWrittenAs, pattern: patternWrittenAs } as const

const ENCODE: Readonly<Record<Encoding, (value: string) => string>> = {
  '': (value) => value,
  'user': (value) => urlWith((url) => (url.password = value)).password,
  'path': (value) => urlWith((url) => (url.pathname = `/${value}`)).pathname.slice(1),
  'query': (value) => urlWith((url) => (url.search = `?${value}`)).search.slice(1),
  'form': (value) => new URLSearchParams([['', value]]).toString().slice(1),
  'regexp': (value) => lined(value.replaceAll(SYNTAX, String.raw`\$&`)),
  'regexpx': (value) => lined(value.replaceAll(SYNTAX, String.raw`\$&`).replaceAll('-', String.raw`\x2d`)),
  'escape': escapedForRegExp,
  'source': (value) => lined(value.replaceAll('/', String.raw`\/`)),
  'base64': (value) => Buffer.from(value).toString('base64'),
  'base64url': (value) => Buffer.from(value).toString('base64url'),
  'base64raw': (value) => Buffer.from(value).toString('base64').replaceAll('=', ''),
  'base64urlpad': (value) => Buffer.from(value).toString('base64').replaceAll('+', '-').replaceAll('/', '_'),
}

function urlWith(change: (url: URL) => void): URL {
  const url = new URL('https://a/')
  change(url)
  return url
}

const SYNTAX = /[\\^$.*+?()[\]{}|/]/g

/** As `source` of a RegExp has the ends of lines. */
const lined = (source: string): string => source.replaceAll('\n', String.raw`\n`).replaceAll('\r', String.raw`\r`).replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)

const WHITE: Readonly<Record<string, string>> = { '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' }

/** What `RegExp.escape` gives, which not every supported Node has. */
function escapedForRegExp(value: string): string {
  const hex = (unit: string): string => {
    const digits = unit.charCodeAt(0).toString(16)
    return digits.length > 2 ? `\\u${digits.padStart(4, '0')}` : `\\x${digits.padStart(2, '0')}`
  }
  const head = /^[0-9A-Za-z]?/.exec(value)![0]
  return head.replace(/./, hex) + value.slice(head.length).replaceAll(/[\\^$.*+?()[\]{}|/,\-=<>#&!%:;@~'`"\s\ufeff]/g, (unit) => {
    if (WHITE[unit] !== undefined) return `\\${WHITE[unit]}`
    return /[\\^$.*+?()[\]{}|/]/.test(unit) ? `\\${unit}` : hex(unit)
  })
}

/** What a text is of: a text, or what a URL or a RegExp is made from. */
export type TextOf = 'text' | 'URL' | 'RegExp'

const URI: Wrapping = { by: 'uri', codes: '' }
const formsOf = (...encodings: readonly Encoding[]): SecretForm[] => encodings.map((encoding) => ({ encoding, wrappings: [] }))

/** What the text of a URL or RegExp may hold of another value too, the safest first: percent escapes are right in each part of a URL. */
export const FITTING: Readonly<Record<TextOf, readonly SecretForm[]>> = {
  text: formsOf(''), URL: [{ encoding: '', wrappings: [URI] }, ...formsOf('user', 'path', 'query')], RegExp: formsOf('regexp', 'regexpx', 'escape', 'source'),
}

/** The same in so many URLs, each in a part of the one around it. */
export const inUrls = (urls: number): readonly SecretForm[] => (urls === 1 ? FITTING.URL : [{ encoding: '', wrappings: Array.from({ length: urls }, () => URI) }])

/** A value so that it changes least in what stands around it: to try where it makes no URL, or no RegExp, otherwise. A `-` may stand between brackets. */
export const writtenSafely = (value: string, of: TextOf): string => (of === 'text' ? value : of === 'URL' ? encodeURIComponent(value) : ENCODE.regexpx(value))

export const ENCODINGS = Object.keys(ENCODE) as Encoding[]

export const encodedAs = (value: string, encoding: Encoding): string => ENCODE[encoding](value)

/** The secret in that form, all of it. */
export const written = (value: string, { encoding, wrappings }: SecretForm): string =>
  wrappings.reduce((text, { by, codes }) => WRITE[by](text, codes), ENCODE[encoding](value))

/** The form as a placeholder names it: `json2_s3_`, `base64-json`, `uri_L-json-from8`; '' for the value itself. */
export function nameOfForm({ encoding, wrappings, from }: SecretForm): string {
  const groups: Wrapping[][] = []
  for (const wrapping of wrappings) {
    const last = groups.at(-1)
    if (last?.[0]!.by === wrapping.by) last.push(wrapping)
    else groups.push([wrapping])
  }
  return [...(encoding === '' ? [] : [encoding]), ...groups.map(nameOfGroup), ...(from === undefined ? [] : [`from${from}`])].join('-')
}

function nameOfGroup(group: readonly Wrapping[]): string {
  const codes = group.some((wrapping) => wrapping.codes !== '') ? group.map((wrapping) => `_${wrapping.codes}`) : []
  return `${group[0]!.by}${group.length === 1 ? '' : group.length}${codes.join('')}`
}

const CODES = { json: String.raw`(?:[uUsr]\d+|m\d+x\d+)*`, uri: String.raw`[LPAN]*(?:[RE][0-9a-f]{2})*(?:[rpul]\d+|m\d+x\d+)*`, pattern: String.raw`(?:[RE][0-9a-f]{4})*(?:[re]\d+)*` } as const
const GROUP = {
  json: new RegExp(`^json([2-${DEEPEST.json}]?)((?:_${CODES.json})*)$`),
  uri: new RegExp(`^uri([2-${DEEPEST.uri}]?)((?:_${CODES.uri})*)$`),
  pattern: new RegExp(`^pattern()((?:_${CODES.pattern})?)$`),
} as const
const KINDS = Object.keys(GROUP) as Wrapping['by'][]
const FROM = /^from([1-9]\d*)$/

/** Undefined: it is the name of none. */
export function formNamed(name: string): SecretForm | undefined {
  const parts = name === '' ? [] : name.split('-')
  const encoding = parts[0] !== '' && ENCODINGS.includes(parts[0] as Encoding) ? (parts.shift() as Encoding) : ''
  const from = FROM.exec(parts.at(-1) ?? '')?.[1]
  if (from !== undefined) parts.pop()
  const form: SecretForm = { encoding, wrappings: parts.flatMap(groupNamed), ...(from !== undefined && { from: Number(from) }) }
  return nameOfForm(form) === name ? form : undefined
}

function groupNamed(name: string): Wrapping[] {
  const by = KINDS.find((kind) => name.startsWith(kind)) ?? 'uri'
  const [, depth, codes = ''] = GROUP[by].exec(name) ?? []
  if (depth === undefined) return []
  return codes === '' ? Array.from({ length: Number(depth || 1) }, () => ({ by, codes })) : codes.slice(1).split('_').map((each) => ({ by, codes: each }))
}
