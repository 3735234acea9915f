/** What an error that was thrown out of work with effects says about the effect (R6): that it surely did not happen, or that nobody knows. */
import { classifyError, type Category, type Classification, type Classifier } from './classification/index.ts'
import { bySystemCode } from './classification/codes.ts'
import { layersOf, namesOf, read } from './classification/layers.ts'

/** `not-done`: nothing happened. `in-doubt`: it may have happened. */
export type AfterError = 'not-done' | 'in-doubt'

export const isAfterError = (value: unknown): value is AfterError => value === 'not-done' || value === 'in-doubt'

/** After these a call may have taken effect although it threw: also after an abort of its own making, which ends a request that was sent. */
const DOUBTFUL: ReadonlySet<Category> = new Set<Category>(['network', 'timeout', 'overloaded', 'server', 'cancelled'])

/** More members or pieces than this do not make the picture clearer. */
const MAX = 16

/**
 * What `error`, classified as `classification`, says where its tool says nothing. In doubt: the categories of R6; a failure of that kind among several,
 * or among the tries of one that tried again (the last one's "exists already" may be the echo of the first); an answer that cannot be read;
 * an error that puts what it wraps into its own words ("refund failed: read ECONNRESET"). All else is the tool's own word that it failed.
 */
export function afterError(error: unknown, classification: Classification, classify: Classifier = classifyError): AfterError {
  const { category, evidence } = classification
  if (DOUBTFUL.has(category)) return 'in-doubt'
  // A rule of the user's: it has looked at the error as a whole.
  if (evidence.rule.startsWith('rule:')) return 'not-done'
  const layers = layersOf(error).map(({ value }) => value)
  const others = layers.flatMap(failuresIn)
  if (others.some((each) => DOUBTFUL.has(classify(each).category) || isUnreadable(each))) return 'in-doubt'
  return category === 'unknown' && layers.some((each) => isUnreadable(each) || wraps(each)) ? 'in-doubt' : 'not-done'
}

/** Failures beside each other, or one after the other. */
function failuresIn(value: unknown): readonly unknown[] {
  const errors = read(value, 'errors')
  return Array.isArray(errors) ? errors.slice(0, MAX) : []
}

/** How clients say that the other side answered, and that the answer is no JSON, or not whole: got, @azure, node-fetch, zlib, TextDecoder. */
const UNREADABLE: readonly unknown[] = ['ERR_BODY_PARSE_FAILURE', 'PARSE_ERROR', 'invalid-json', 'Z_DATA_ERROR', 'Z_BUF_ERROR', 'ERR_ENCODING_INVALID_ENCODED_DATA']

/** An answer came, and it cannot be read: a body that was cut, a proxy's page. What was asked for may well be done. */
function isUnreadable(value: unknown): boolean {
  if (UNREADABLE.includes(read(value, 'code')) || UNREADABLE.includes(read(value, 'type'))) return true
  // Of JSON alone: a pattern or a program that does not parse was never sent. All engines name it in their messages.
  return namesOf(value).includes('SyntaxError') && /\bJSON\b/.test(textOf(value))
}

/** A code of a system as a word of its own: not of a file called after it. */
const CODE = /(?<![\w./-])(?:E[A-Z]{4,}|(?:UND_ERR|ERR_HTTP2)_[A-Z_]+)(?![\w/-]|\.\w)/g

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : read(value, 'message')
  return typeof text === 'string' ? text.slice(0, 4_096) : ''
}

/** Whether the message of an error says what it wraps: by a code of the system, or behind a colon, as that says it itself. */
function wraps(value: unknown): boolean {
  const text = textOf(value)
  const codes = (text.match(CODE) ?? []).slice(0, MAX)
  if (codes.some((code) => DOUBTFUL.has(bySystemCode(code, undefined)?.category ?? 'unknown'))) return true
  const pieces = text.split(/:\s+/).slice(0, MAX)
  // One word ("Invalid setting: timeout") may be anything.
  return pieces.some((piece, i) => i > 0 && /\S\s+\S/.test(piece) && DOUBTFUL.has(classifyError(new Error(pieces.slice(i).join(': '))).category))
}
