/**
 * The outside world: carries out effects over loopback HTTP and counts every one, in the watching process. It never drops a repeated call.
 * A caller that is gone before its effect was made has lost its request on the way: no effect.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { sleep, systemClock } from '../../src/core/clock.ts'
import type { Random } from '../../src/core/random.ts'
import type { EffectState } from '../settle.ts'
import type { WorldCall } from './protocol.ts'

/** What the world counted of one run. */
export interface Counts {
  /** Keys of the calls that were carried out, by the name of the effect, in order. */
  readonly effects: Readonly<Record<string, readonly string[]>>
  readonly reads: number
  /** How often it was asked whether something was done. */
  readonly lookups: number
}

interface Counting extends Counts {
  readonly effects: Record<string, string[]>
  reads: number
  lookups: number
}

/** The longest time before an effect, and after it, ms, for a caller that wants it slow. */
const SLOWEST_MS = 25

export class World {
  readonly #random: Random
  readonly #runs = new Map<string, Counting>()
  readonly #outputs = new Map<string, string>()
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  url = ''

  constructor(random: Random) {
    this.#random = random
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (typeof address === 'object' && address) this.url = `http://127.0.0.1:${address.port}`
  }

  countsOf(runId: string): Counts {
    return this.#of(runId)
  }

  /** What a person sees who looks. */
  effectOf(key: string): EffectState {
    const output = this.#outputs.get(key)
    return output === undefined ? { done: false } : { done: true, output }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://world')
    if (pathname === '/effect') {
      this.#of(searchParams.get('run') ?? '').lookups++
      return this.effectOf(searchParams.get('key') ?? '')
    }
    return this.#carryOut(JSON.parse(await text(request)) as WorldCall, response)
  }

  async #carryOut({ runId, name, key, slow }: WorldCall, response: ServerResponse): Promise<unknown> {
    const output = `${key === null ? 'look at' : 'receipt of'} ${name}`
    if (slow) await sleep(systemClock, this.#random() * SLOWEST_MS)
    if (response.destroyed) return null
    const counts = this.#of(runId)
    if (key === null) counts.reads++
    else {
      ;(counts.effects[name] ??= []).push(key)
      this.#outputs.set(key, output)
    }
    if (slow) await sleep(systemClock, this.#random() * SLOWEST_MS)
    return { output }
  }

  #of(runId: string): Counting {
    let counts = this.#runs.get(runId)
    if (!counts) this.#runs.set(runId, (counts = { effects: {}, reads: 0, lookups: 0 }))
    return counts
  }
}
