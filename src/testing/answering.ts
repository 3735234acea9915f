/** From a request's text to what is sent back: the record of requests and the counts of tries live here. */
import type { Clock } from '../core/clock.ts'
import { hash } from '../core/hash.ts'
import { completion } from './completion.ts'
import { faultFor } from './fault-plan.ts'
import type { Fault, FaultPlan } from './faults.ts'
import { checkedObject, isObject } from './invalid.ts'
import { resolve } from './resolve.ts'
import type { Asked, PreparedScript, Refused, RefusedError, Resolved } from './resolve.ts'
import { checkMessages } from './script.ts'
import { jsonActions, wireActions } from './wire.ts'
import type { WireAction } from './wire.ts'

/** A request as the server saw it. */
export interface RecordedRequest {
  /** Absent where no conversation was found. */
  readonly conversation?: string
  /** The answer that was asked for, counted from 1. */
  readonly turn?: number
  /** How often this state of the conversation has been asked, this time included. */
  readonly try?: number
  /** Ms since the epoch. */
  readonly at: number
  readonly streamed: boolean
  readonly fault?: Fault
  /** Why there was no answer. */
  readonly error?: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed; as text where it is not JSON. */
  readonly body: unknown
}

export interface AnsweringOptions {
  readonly scripts: readonly PreparedScript[]
  readonly faults: FaultPlan
  readonly clock: Clock
}

/** Answers `POST /v1/chat/completions`. */
export class Answering {
  readonly requests: RecordedRequest[] = []
  faults: FaultPlan
  readonly #scripts: readonly PreparedScript[]
  readonly #clock: Clock
  readonly #tries = new Map<string, number>()

  constructor(options: AnsweringOptions) {
    this.#scripts = options.scripts
    this.#clock = options.clock
    this.faults = options.faults
  }

  answer(headers: Readonly<Record<string, string>>, text: string): WireAction[] {
    const body = parsed(text)
    const streamed = isObject(body) && body['stream'] === true
    const seen = { at: this.#clock.now(), streamed, headers, body }
    const asked = readRequest(headers, body)
    if (asked.kind === 'refused') return this.#refuse(seen, asked.error)
    const resolved = resolve(this.#scripts, asked)
    if (resolved.kind === 'refused') return this.#refuse(seen, resolved.error)
    const count = this.#count(resolved)
    const { conversation, turn, message } = resolved
    const fault = faultFor(this.faults, { conversation, turn, try: count })
    this.requests.push({ conversation, turn, try: count, ...seen, ...(fault ? { fault } : {}) })
    const model = String(asked.body['model'] ?? 'scripted')
    const options = asked.body['stream_options']
    const includeUsage = isObject(options) && options['include_usage'] === true
    return wireActions(completion({ conversation, turn, model, request: asked.messages, message }), { streamed, includeUsage }, fault)
  }

  #refuse(seen: Omit<RecordedRequest, 'error'>, error: RefusedError): WireAction[] {
    this.requests.push({ ...seen, error: error.message })
    return jsonActions(400, { error })
  }

  #count(resolved: Resolved): number {
    const key = hash(resolved.conversation, String(resolved.turn), resolved.state)
    const count = (this.#tries.get(key) ?? 0) + 1
    this.#tries.set(key, count)
    return count
  }
}

function readRequest(headers: Readonly<Record<string, string>>, value: unknown): (Asked & { readonly kind: 'asked' }) | Refused {
  try {
    const body = checkedObject('body', value)
    const messages = body['messages']
    checkMessages('messages', messages)
    return { kind: 'asked', conversation: headers['x-conversation'], messages, body }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', error: { message, type: 'invalid_request_error', code: 'request_invalid' } }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
