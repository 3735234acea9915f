/** Faults: what goes wrong instead of, or in the middle of, an answer. Plain data, so that another process can send them. */

/**
 * How far an answer goes before the fault: a number of content deltas (text or arguments), `content` for all of them
 * without the finish reason, `finish` for all but the end mark `[DONE]`. Of an answer that is not streamed: a number of
 * pieces of 64 characters; both words mean all but the last piece. At least one piece is always missing.
 */
export type FaultPoint = number | 'content' | 'finish'

export type Fault =
  /** An error response. Default body: `{ error: { message, type, code } }` that fits the status. */
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /** The right answer, late: `beforeMs` before the headers, `betweenMs` before each chunk after the first. Default 0. */
  | { readonly kind: 'delay'; readonly beforeMs?: number; readonly betweenMs?: number }
  /** No answer and no end; with `after`, an answer that stops coming. */
  | { readonly kind: 'hang'; readonly after?: FaultPoint }
  /** The socket is reset: before anything is sent, or `after` a part of the body. */
  | { readonly kind: 'reset'; readonly after?: FaultPoint }
  /** The body ends too early, but cleanly, as if it were complete. Default: after the content. */
  | { readonly kind: 'cut'; readonly after?: FaultPoint }
  /** An error event inside a 200 stream, which then ends. Default: before any content. Not streamed: as `error-body`. */
  | { readonly kind: 'error-event'; readonly after?: FaultPoint; readonly error?: unknown }
  /** A 200 whose body is JSON with an error where the choices should be, also where a stream was asked for. */
  | { readonly kind: 'error-body'; readonly error?: unknown }
  /** Something that is not JSON: as an event of the stream, which then goes on; as the body where none was asked for. */
  | { readonly kind: 'garbage'; readonly after?: FaultPoint; readonly text?: string }

export type FaultKind = Fault['kind']

/** A fault of one try: the `try`-th time that the conversation is asked for its answer number `turn`. */
export interface PlannedFault {
  /** Default: every conversation. */
  readonly conversation?: string
  /** The answer, counted from 1. */
  readonly turn: number
  /** Counted from 1; `every` for a fault that stays. Default: 1. */
  readonly try?: number | 'every'
  readonly fault: Fault
}

/** Faults drawn at random, but the same ones for the same seed: a try's fault does not depend on what came before it. */
export interface RandomFaults {
  readonly seed: number
  /** Share of the tries that fail, 0 to 1. */
  readonly rate: number
  /** What to draw from. */
  readonly of: readonly Fault[]
  /** Only the first `tries` tries of an answer may fail, so that a client with more attempts comes through. */
  readonly tries: number
}

/** For each try the first entry that fits decides. */
export type FaultPlan = readonly (PlannedFault | RandomFaults)[]

/** A typical fault of each kind. `hang` needs a client with a timeout. */
export const typicalFaults: Readonly<Record<FaultKind, readonly Fault[]>> = Object.freeze({
  status: [
    { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 529 },
  ],
  delay: [{ kind: 'delay', beforeMs: 20, betweenMs: 1 }],
  hang: [{ kind: 'hang' }, { kind: 'hang', after: 1 }],
  reset: [{ kind: 'reset' }, { kind: 'reset', after: 1 }, { kind: 'reset', after: 'content' }],
  cut: [{ kind: 'cut', after: 0 }, { kind: 'cut', after: 1 }, { kind: 'cut', after: 'content' }],
  'error-event': [{ kind: 'error-event', after: 0 }, { kind: 'error-event', after: 2 }],
  'error-body': [{ kind: 'error-body' }],
  garbage: [{ kind: 'garbage', after: 1 }],
})

/** The error that a fault without one of its own sends: what an overloaded provider says. */
export const overloaded = Object.freeze({ message: 'The server is overloaded. Please try again later.', type: 'overloaded_error', code: 'overloaded' })

/** The body of an error response that has none of its own. */
export function statusBody(status: number): { readonly error: unknown } {
  const [message, type] = known[status] ?? (status < 500 ? ['Bad request.', 'invalid_request_error'] : ['The server had an error.', 'server_error'])
  return { error: status === 529 ? overloaded : { message, type, code: null } }
}

const known: Readonly<Record<number, readonly [string, string]>> = {
  401: ['Incorrect API key provided.', 'authentication_error'],
  403: ['Not allowed.', 'permission_error'],
  429: ['Rate limit reached for requests.', 'rate_limit_error'],
  503: ['Service unavailable.', 'server_error'],
}
