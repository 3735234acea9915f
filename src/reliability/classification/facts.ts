/** What one layer says about itself, collected from the value and from the provider's body that it carries. */
import { embeddedBody } from './embedded.ts'
import { headersFrom } from './headers.ts'
import type { HeaderMap } from './headers.ts'
import { isErrorLike, isHistory, namesOf, read } from './layers.ts'

/** The facts of a layer, outermost first. */
export interface Facts {
  readonly names: readonly string[]
  /** Words under `code`, `type` and the like. */
  readonly codes: readonly string[]
  /** Numbers under `code`, each with the object that it stands in. */
  readonly numbers: readonly { readonly code: number; readonly of: unknown }[]
  /** HTTP status codes of failures. */
  readonly statuses: readonly number[]
  /** Why the model stopped, or why a prompt was blocked. */
  readonly stops: readonly string[]
  /** Messages, each cut to {@link MAX_TEXT}. */
  readonly texts: readonly string[]
  readonly headers: readonly HeaderMap[]
  /** Every object that was looked at. */
  readonly objects: readonly unknown[]
}

/** What decides stands at the beginning of a text; a text of a megabyte costs no more than one of this length. */
const MAX_TEXT = 4_096
const MAX_OBJECTS = 120
const MAX_ITEMS = 8
const MAX_DEPTH = 7

const STATUS_KEYS = ['status', 'statusCode', 'status_code', 'httpStatusCode', 'httpStatus', 'http_status']
const CODE_KEYS = ['code', 'type', 'error_code', 'errorCode', 'error_type', 'errorType', 'lc_error_code', '__type', 'Code', 'reason', 'errno', 'error', 'codeName']
const STOP_KEYS = ['finishReason', 'finish_reason', 'stopReason', 'stop_reason']
const BLOCK_KEYS = ['blockReason', 'block_reason']
const TEXT_KEYS = ['message', 'msg', 'detail', 'details', 'error', 'error_description', 'errorMessage', 'error_message', 'rawMessage', 'title']
const HEADER_KEYS = ['headers', 'responseHeaders']
const BODY_KEYS = [
  'error', 'errors', 'data', 'body', 'responseBody', 'rawBody', 'response', 'value', 'details', 'detail', 'errorDetails', 'statusDetails',
  'metadata', '$metadata', '$response', 'innererror', 'inner_error', 'extensions', 'raw', 'parameters', 'promptFeedback', 'candidates', 'choices',
  'incomplete_details', 'output', 'violations',
  'meta', 'res', 'httpResponse', 'rawResponse', 'httpMeta', // responses: Elasticsearch's, superagent's, Hugging Face's, generated SDKs'
]
/** Amazon's event streams name the failure by the key: `{ throttlingException: { message } }`. */
const EXCEPTION_KEYS = [
  'throttlingException', 'validationException', 'internalServerException', 'serviceUnavailableException', 'modelTimeoutException', 'modelStreamErrorException',
]

/** Collects what `value` says. What it wraps (`cause` and the like) is not part of it. */
export function factsOf(value: unknown): Facts {
  const names = namesOf(value)
  const codes: string[] = []
  const numbers: { code: number; of: unknown }[] = []
  const statuses: number[] = []
  const stops: string[] = []
  const texts: string[] = []
  const headers: HeaderMap[] = []
  const objects = new Set<unknown>()

  const visitText = (text: string, depth: number): void => {
    if (text === '' || /^\s*</.test(text)) return // a proxy's HTML page says nothing
    texts.push(text.slice(0, MAX_TEXT))
    const body = embeddedBody(text)
    if (body !== undefined) visit(body, depth + 1)
  }

  const visit = (node: unknown, depth: number): void => {
    if (typeof node === 'string') return visitText(node, depth)
    if (node === null || typeof node !== 'object' || objects.has(node) || objects.size >= MAX_OBJECTS || depth > MAX_DEPTH) return
    objects.add(node)
    if (Array.isArray(node)) {
      for (const item of node.slice(0, MAX_ITEMS)) if (!isErrorLike(item)) visit(item, depth + 1)
      return
    }
    for (const key of STATUS_KEYS) {
      const status = asStatus(read(node, key))
      if (status !== undefined) statuses.push(status)
    }
    for (const key of CODE_KEYS) {
      const code = read(node, key)
      if (typeof code === 'number') {
        if (key === 'code' || key === 'errno') numbers.push({ code, of: node })
      } else if (typeof code === 'string' && /^[\w.:/#-]{1,160}$/.test(code)) codes.push(code)
      const status = key === 'code' || key === 'error_code' ? asStatus(code) : undefined
      if (status !== undefined) statuses.push(status)
    }
    const status = read(node, 'status')
    if (typeof status === 'string' && /^[A-Z][A-Z_]+$/.test(status)) codes.push(status) // Google's canonical codes; lower case may be anybody's
    for (const key of STOP_KEYS) {
      const stop = read(node, key)
      if (typeof stop === 'string') stops.push(stop)
    }
    for (const key of BLOCK_KEYS) {
      const block = read(node, key)
      if (typeof block === 'string' && !block.endsWith('UNSPECIFIED')) stops.push('blocked')
    }
    for (const key of HEADER_KEYS) {
      const map = headersFrom(read(node, key))
      if (map.size > 0) headers.push(map)
    }
    for (const key of TEXT_KEYS) {
      const text = read(node, key)
      if (typeof text === 'string') visitText(text, depth)
    }
    for (const key of BODY_KEYS) {
      const inner = read(node, key)
      if (typeof inner === 'string' && TEXT_KEYS.includes(key)) continue
      // An error in here is a layer of its own, or a member; earlier failures of a retry do not count.
      if (isErrorLike(inner) || (key === 'errors' && isHistory(node))) continue
      visit(inner, depth + 1)
    }
    for (const key of EXCEPTION_KEYS) {
      const inner = read(node, key)
      if (typeof inner !== 'object' || inner === null) continue
      codes.push(key)
      visit(inner, depth + 1)
    }
  }

  visit(value, 0)
  return { names, codes, numbers, statuses, stops, texts, headers, objects: [...objects] }
}

function asStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}
