/** What an error that was thrown out of work with effects says about the effect (R6): that it surely did not happen, or that nobody knows. */
import { classifyError, type Category, type Classification, type Classifier } from './classification/index.ts'
import { bySystemCode } from './classification/codes.ts'
import { factsOf } from './classification/facts.ts'
import { judge } from './classification/judge.ts'
import { layersOf, namesOf, read } from './classification/layers.ts'
import { saysLost, textOf } from './lost-answer.ts'

/** `not-done`: nothing happened. `in-doubt`: it may have happened. */
export type AfterError = 'not-done' | 'in-doubt'

export const isAfterError = (value: unknown): value is AfterError => value === 'not-done' || value === 'in-doubt'

/** After these a call may have taken effect although it threw: also after an abort of its own making, which ends a request that was sent. */
const DOUBTFUL: ReadonlySet<Category> = new Set<Category>(['network', 'timeout', 'overloaded', 'server', 'cancelled'])

/** More pieces of a text than this do not make the picture clearer. */
const MAX_PIECES = 16
/** More failures than this, of one error and all that it holds, are not looked at: what the others say, nobody knows. */
const MAX_MEMBERS = 64

/**
 * What `error`, classified as `classification`, says where its tool says nothing. In doubt: the categories of R6; a failure of that kind among several,
 * or among the tries of one that tried again (the last one's "exists already" may be the echo of the first); whatever says that an answer was lost,
 * cut, unreadable or late, also in words ("refund failed with 500"). All else is the tool's own word that it failed.
 */
export function afterError(error: unknown, classification: Classification, classify: Classifier = classifyError): AfterError {
  return isDoubt(error, classification, classify, { members: MAX_MEMBERS }) ? 'in-doubt' : 'not-done'
}

function isDoubt(error: unknown, { category, evidence: { rule, ignored } }: Classification, classify: Classifier, left: { members: number }): boolean {
  // What a rule of the user's meant to say, nobody knows.
  if (DOUBTFUL.has(category) || ignored !== undefined) return true
  // A rule of the user's: it has looked at the error as a whole.
  if (rule.startsWith('rule:')) return false
  const layers = layersOf(error).map(({ value }) => value)
  for (const member of layers.flatMap(failuresIn)) {
    if (left.members-- <= 0 || isDoubt(member, classify(member), classify, left)) return true
  }
  if (category === 'unknown') return layers.some((layer) => saysLost(layer) || wraps(layer))
  // Its client sent something, and what it says of the request may be about a later one: the redirect that the first one was answered with.
  return !SAID_BY_THE_OTHER_SIDE.test(rule) && layers.some((layer) => saysLost(layer) || judge(layer, factsOf(layer))?.weak === true)
}

/** A status or a word of the service: it has looked at the request, and refused. */
const SAID_BY_THE_OTHER_SIDE = /^(?:status|provider|sqlstate|stop|json-rpc|smtp):/

/** Failures beside each other, or one after the other: of several at once, of tries, of work and of the cleaning up behind it. */
function failuresIn(value: unknown): readonly unknown[] {
  const errors = read(value, 'errors')
  const suppressed = namesOf(value).includes('SuppressedError') ? [read(value, 'suppressed'), read(value, 'error')] : []
  return [...suppressed, ...(Array.isArray(errors) ? errors.slice(0, MAX_MEMBERS + 1) : [])]
}

/** A code of a system as a word of its own: not of a file called after it. */
const CODE = /(?<![\w./-])(?:E[A-Z]{4,}|(?:UND_ERR|ERR_HTTP2)_[A-Z_]+)(?![\w/-]|\.\w)/g

/** Whether the message of an error says what it wraps: by a code of the system, or behind a colon, as that says it itself. */
function wraps(value: unknown): boolean {
  const text = textOf(value)
  const codes = (text.match(CODE) ?? []).slice(0, MAX_PIECES)
  if (codes.some((code) => DOUBTFUL.has(bySystemCode(code, undefined)?.category ?? 'unknown'))) return true
  const pieces = text.split(/:\s+/).slice(0, MAX_PIECES)
  // One word ("Invalid setting: timeout") may be anything.
  return pieces.some((piece, i) => i > 0 && /\S\s+\S/.test(piece) && DOUBTFUL.has(classifyError(new Error(pieces.slice(i).join(': '))).category))
}
