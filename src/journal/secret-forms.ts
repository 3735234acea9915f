/** How a secret stands in texts: as it is, and as the encodings that data meets on its way write it. */
import { Buffer } from 'node:buffer'

/** `json`: inside JSON text. `json2`: inside JSON text that is inside JSON text. `uri`, `form`: in a URL. `base64`: by itself, standard alphabet. */
export type SecretForm = '' | 'json' | 'json2' | 'uri' | 'form' | 'base64'

/** A text as JSON has it between the quotes. */
export const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const WRITE: Readonly<Record<SecretForm, (value: string) => string>> = {
  '': (value) => value,
  'json': inJson,
  'json2': (value) => inJson(inJson(value)),
  'uri': encodeURIComponent,
  'form': (value) => new URLSearchParams([['', value]]).toString().slice(1),
  'base64': (value) => Buffer.from(value).toString('base64'),
}

export const FORMS = Object.keys(WRITE) as SecretForm[]

export const isForm = (name: string): name is SecretForm => Object.hasOwn(WRITE, name)

/** The secret in that form. */
export const written = (value: string, form: SecretForm): string => WRITE[form](value)
