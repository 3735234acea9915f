/** Puts each client into a situation and collects what came of it. */
import { aiSdkClients } from './clients/ai-sdk.ts'
import type { Client } from './clients/client.ts'
import { plainClients } from './clients/plain.ts'
import { sdkClients } from './clients/sdks.ts'
import type { Loopback, Reply } from './loopback.ts'
import type { Instead, Situation } from './situations/situation.ts'

export interface Outcome {
  /** Client and mode, such as `openai stream`. */
  readonly who: string
  /** Whether the client threw, and what; else what it took for an answer. */
  readonly threw: boolean
  readonly value: unknown
  readonly expected: Instead
}

/** Who knows no API is given the errors of each. */
const CLIENTS: readonly Client[] = [...aiSdkClients, ...sdkClients, ...(['chat', 'anthropic', 'google'] as const).flatMap(plainClients)]

/** Long enough for the request to have gone out, and for the first of a stream to have come in. */
const ABORT_AFTER_MS = 30

export async function askAll(situation: Situation, server: Loopback): Promise<Outcome[]> {
  const asked: Promise<Outcome>[] = []
  for (const client of CLIENTS) {
    const reply = situation.replies[client.dialect]
    // Who knows no API would be given the same once more.
    if (client.stream === undefined && client.dialect !== 'chat' && reply === situation.replies.chat) continue
    if (!reply || (situation.only && !situation.only.includes(client.name))) continue
    for (const mode of ['generate', 'stream'] as const) {
      if (client[mode] && (situation.mode ?? mode) === mode) asked.push(ask(situation, client, mode, reply, server))
    }
  }
  return Promise.all(asked)
}

async function ask(situation: Situation, client: Client, mode: 'generate' | 'stream', reply: Reply, server: Loopback): Promise<Outcome> {
  const plain = client.generate !== undefined && client.stream === undefined
  const who = plain ? `${client.name} ${mode} (${client.dialect})` : `${client.name} ${mode}`
  const expected = expectedOf(situation, who)
  const { abort, timeoutMs } = situation
  const controller = new AbortController()
  const timer = abort && setTimeout(() => controller.abort(abort.reason), ABORT_AFTER_MS)
  try {
    const asking = { url: urlOf(situation, reply, server), ...(abort && { signal: controller.signal }), ...(timeoutMs !== undefined && { timeoutMs }) }
    const value = await client[mode]?.(asking)
    return { who, threw: false, value, expected }
  } catch (error) {
    return { who, threw: true, value: error, expected }
  } finally {
    clearTimeout(timer)
  }
}

function urlOf({ address = 'loopback' }: Situation, reply: Reply, server: Loopback): string {
  switch (address) {
    case 'refused': return server.closedUrl
    case 'unknown-host': return 'http://no..where.invalid'
    case 'tls': return server.at(reply).url.replace('http:', 'https:')
    case 'bad-url': return 'not an address'
    case 'loopback': return server.at(reply).url
  }
}

function expectedOf({ but = {}, expect }: Situation, who: string): Instead {
  for (const [key, expected] of Object.entries(but)) {
    if (key.endsWith('*') ? who.startsWith(key.slice(0, -1)) : who === key) return expected
  }
  return expect
}
