/** How a secret stands in texts: as it is, and as the encodings that data meets on its way write it. */
import { Buffer } from 'node:buffer'
import { writtenAs } from './json-escapes.ts'

/**
 * `uri`, `form`: in a URL, as programs write it; `user`, `path`, `query`: as the URL itself does. Of the source of a RegExp: `regexp` where all that means
 * something is escaped, `regexpx` where `-` is too, `escape` as `RegExp.escape` does it, `source` where nothing is but what `new RegExp` escapes. `base64`: by itself, standard alphabet.
 */
export type Encoding = '' | 'uri' | 'user' | 'path' | 'query' | 'form' | 'regexp' | 'regexpx' | 'escape' | 'source' | 'base64'

/** An encoding, and in how many JSON texts, each inside the other, it stands: how each of them is written, the innermost first ({@link spellingOf}). */
export interface SecretForm {
  readonly encoding: Encoding
  readonly json: readonly string[]
}

/** Deeper inside of each other nobody writes JSON texts. */
export const DEEPEST = 3

const ENCODE: Readonly<Record<Encoding, (value: string) => string>> = {
  '': (value) => value,
  'uri': encodeURIComponent,
  'user': (value) => urlWith((url) => (url.password = value)).password,
  'path': (value) => urlWith((url) => (url.pathname = `/${value}`)).pathname.slice(1),
  'query': (value) => urlWith((url) => (url.search = `?${value}`)).search.slice(1),
  'form': (value) => new URLSearchParams([['', value]]).toString().slice(1),
  'regexp': (value) => lined(value.replaceAll(SYNTAX, String.raw`\$&`)),
  'regexpx': (value) => lined(value.replaceAll(SYNTAX, String.raw`\$&`).replaceAll('-', String.raw`\x2d`)),
  'escape': escapedForRegExp,
  'source': (value) => lined(value.replaceAll('/', String.raw`\/`)),
  'base64': (value) => Buffer.from(value).toString('base64'),
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

/** What the text of a URL or RegExp may hold of another value too, the safest first: `uri` is right in each part of a URL. */
export const FITTING: Readonly<Record<TextOf, readonly Encoding[]>> = { text: [], URL: ['uri', 'user', 'path', 'query'], RegExp: ['regexp', 'regexpx', 'escape', 'source'] }

/** What a text is of: a text, or what a URL or a RegExp is made from. */
export type TextOf = 'text' | 'URL' | 'RegExp'

/** A value so that it changes least in what stands around it: to try where it makes no URL, or no RegExp, otherwise. A `-` may stand between brackets. */
export const writtenSafely = (value: string, of: TextOf): string => (of === 'text' ? value : ENCODE[of === 'URL' ? 'uri' : 'regexpx'](value))

export const ENCODINGS = Object.keys(ENCODE) as Encoding[]

export const encodedAs = (value: string, encoding: Encoding): string => ENCODE[encoding](value)

/** The secret in that form. */
export const written = (value: string, { encoding, json }: SecretForm): string => json.reduce((text, codes) => writtenAs(text, codes), ENCODE[encoding](value))

/** The form as a placeholder names it: `json2_s3_`, `base64-json`; '' for the value itself. */
export function nameOfForm({ encoding, json }: SecretForm): string {
  const depth = json.length === 0 ? '' : `json${json.length === 1 ? '' : json.length}${json.some((codes) => codes !== '') ? json.map((codes) => `_${codes}`).join('') : ''}`
  return encoding === '' || depth === '' ? encoding + depth : `${encoding}-${depth}`
}

const NAME = new RegExp(`^(?:(${ENCODINGS.filter(Boolean).join('|')})(?:-|$))?(?:json([2-${DEEPEST}]?)((?:_(?:[uUsr]\\d+)*)*))?$`)

/** Undefined: it is the name of none. */
export function formNamed(name: string): SecretForm | undefined {
  const [, encoding = '', depth, codes = ''] = NAME.exec(name) ?? []
  const count = depth === undefined ? 0 : Number(depth || 1)
  const form = { encoding: encoding as Encoding, json: codes === '' ? Array.from({ length: count }, () => '') : codes.slice(1).split('_') }
  return nameOfForm(form) === name ? form : undefined
}
