/** One thing that goes wrong on the wire, as each API sends it, and what it has to be taken for. */
import type { ErrorContext } from '../../../src/reliability/classification/index.ts'
import type { Dialect } from '../clients/client.ts'
import type { Reply } from '../loopback.ts'

/** Category, whether it is retryable, and the hint in ms. */
export type Expected = readonly [category: string, retryable: boolean, retryAfterMs?: number]

/** Another classification; `answer`: the client takes it for an answer; `perhaps`: it does so where it got far enough to. */
export type Instead = Expected | 'answer' | 'perhaps'

export interface Situation {
  readonly name: string
  /** What the endpoint answers, for each API that has it. */
  readonly replies: Readonly<Partial<Record<Dialect, Reply>>>
  readonly expect: Expected
  /** Only for who asks like this. Default: both. */
  readonly mode?: 'generate' | 'stream'
  /** Only these clients. Default: all. */
  readonly only?: readonly string[]
  /**
   * What these clients make of it instead: `{ 'openai stream': 'answer' }` for one that takes it for an answer. Keyed by client and mode, or
   * by how that begins with a `*` behind it; the first that fits decides.
   */
  readonly but?: Readonly<Record<string, Instead>>
  /** The client's own time limit, ms. */
  readonly timeoutMs?: number
  /** Aborts with this when the request has been sent. */
  readonly abort?: { readonly reason?: unknown }
  /** What the caller knows beside the error. */
  readonly context?: ErrorContext
  /** Default: the loopback server's; else one of the given kind. */
  readonly address?: 'loopback' | 'refused' | 'unknown-host' | 'tls' | 'bad-url'
}

export const ALL: readonly Dialect[] = ['chat', 'responses', 'anthropic', 'google']

/** The same for every API. */
export const everywhere = (reply: Reply): Situation['replies'] => Object.fromEntries(ALL.map((dialect) => [dialect, reply]))

export interface Bodies {
  readonly openai?: { readonly message: string; readonly type?: string | null; readonly code?: string | number | null; readonly param?: string | null }
  readonly anthropic?: { readonly type: string; readonly message: string }
  readonly google?: { readonly code: number; readonly message: string; readonly status: string; readonly details?: readonly object[] }
}

/** The error bodies of the APIs, as each wraps them. */
export function errorBodies({ openai, anthropic, google }: Bodies): Readonly<Partial<Record<Dialect, object>>> {
  const ofOpenai = openai && { error: { message: openai.message, type: openai.type ?? null, param: openai.param ?? null, code: openai.code ?? null } }
  return {
    ...(ofOpenai && { chat: ofOpenai, responses: ofOpenai }),
    ...(anthropic && { anthropic: { type: 'error', error: anthropic, request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy' } }),
    ...(google && { google: { error: google } }),
  }
}

/** A failure with a status, where the API has a body for it. */
export function failure(status: number, bodies: Bodies, headers: Reply['headers'] = {}): Situation['replies'] {
  return Object.fromEntries(Object.entries(errorBodies(bodies)).map(([dialect, body]) =>
    [dialect, { status: dialect === 'google' ? bodies.google?.code ?? status : status, headers, body: [JSON.stringify(body, null, 2)] }]))
}
