/** How a secret stands in texts: as it is, and as the encodings that data meets on its way write it. */
import { Buffer } from 'node:buffer'

/**
 * `json`: inside JSON text. `json2`: inside JSON text that is inside JSON text. `uri`, `form`: in a URL, as programs write it; `user`, `path`,
 * `query`: as the URL itself does. `regexp`: in the source of a RegExp. `base64`: by itself, standard alphabet.
 */
export type SecretForm = '' | 'json' | 'json2' | 'uri' | 'user' | 'path' | 'query' | 'form' | 'regexp' | 'base64'

/** A text as JSON has it between the quotes. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const WRITE: Readonly<Record<SecretForm, (value: string) => string>> = {
  '': (value) => value,
  'json': inJson,
  'json2': (value) => inJson(inJson(value)),
  'uri': encodeURIComponent,
  'user': (value) => urlWith((url) => (url.password = value)).password,
  'path': (value) => urlWith((url) => (url.pathname = `/${value}`)).pathname.slice(1),
  'query': (value) => urlWith((url) => (url.search = `?${value}`)).search.slice(1),
  'form': (value) => new URLSearchParams([['', value]]).toString().slice(1),
  'regexp': (value) => value.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`),
  'base64': (value) => Buffer.from(value).toString('base64'),
}

function urlWith(change: (url: URL) => void): URL {
  const url = new URL('https://a/')
  change(url)
  return url
}

/** What the text of a URL or RegExp may hold of another value too, the safest first: `uri` is right in each part of a URL. */
const FITTING: Readonly<Record<TextOf, readonly SecretForm[]>> = { text: [], URL: ['uri', 'user', 'path', 'query'], RegExp: ['regexp'] }

/** What a text is of: a text, or what a URL or a RegExp is made from. */
export type TextOf = 'text' | 'URL' | 'RegExp'

/** The form in which a value stands in such a text: of those that read the same, one under which other values fit as well. */
export const fittingForm = (value: string, stands: string, of: TextOf): SecretForm | undefined => FITTING[of].find((form) => written(value, form) === stands)

/** A value so that it changes least in what stands around it: to try where it makes no URL, or no RegExp, otherwise. A `-` may stand between brackets. */
export const writtenSafely = (value: string, of: TextOf): string => {
  const form = FITTING[of][0]
  const text = form === undefined ? value : written(value, form)
  return of === 'RegExp' ? text.replaceAll('-', String.raw`\x2d`) : text
}

export const FORMS = Object.keys(WRITE) as SecretForm[]

export const isForm = (name: string): name is SecretForm => Object.hasOwn(WRITE, name)

/** The secret in that form. */
export const written = (value: string, form: SecretForm): string => WRITE[form](value)
