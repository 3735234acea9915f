/**
 * The outside world as a process of its own: answers tool calls as recorded, counts every one, keeps effects, and tells
 * the watching process when a trap has caught one. It never drops a repeated call: what happens twice is counted twice.
 */
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import type { RecordedCall } from './recording.ts'
import type { EffectState } from '../settle.ts'
import type { CallCount, WorldCall, WorldCaught, WorldReport, WorldTrap } from './protocol.ts'

/** What the world is told of a conversation before its run begins. */
export interface WorldPlan {
  readonly conversation: string
  readonly calls: readonly RecordedCall[]
  readonly traps: readonly WorldTrap[]
}

interface Known extends WorldPlan {
  readonly counts: { executions: number; withoutKey: number; effects: number; keys: string[] }[]
  readonly strays: string[]
  traps: WorldTrap[]
  asked: number
}

const conversations = new Map<string, Known>()
/** Effects by the key that came with them. */
const effects = new Map<string, { readonly known: Known; readonly call: RecordedCall }>()
const random = seededRandom(Number(process.argv[2] ?? 0))
/** The longest that an answer takes, ms: parallel calls end in another order each time. */
const SLOWEST_MS = 8

function plan({ conversation, calls, traps }: WorldPlan): null {
  const counts = calls.map(() => ({ executions: 0, withoutKey: 0, effects: 0, keys: [] }))
  conversations.set(conversation, { conversation, calls, counts, strays: [], traps: [...traps], asked: 0 })
  return null
}

async function carryOut(asked: WorldCall): Promise<{ readonly result: string } | { readonly error: string }> {
  const known = conversations.get(asked.conversation)
  const call = known?.calls.find(({ answer, callId }) => answer === asked.answer && callId === asked.callId)
  if (!known || !call || call.tool !== asked.tool || !isDeepStrictEqual(call.input, asked.input)) {
    const what = `${asked.tool} (${asked.callId}) after ${asked.answer} answers with ${JSON.stringify(asked.input)}`
    known?.strays.push(what)
    return { error: `nobody recorded ${what}` }
  }
  if (!call.changesState) {
    count(known, call, asked)
    await sleep(systemClock, random() * SLOWEST_MS)
    return { result: call.result }
  }
  await caught(known, call, 'before-effect', asked.pid)
  count(known, call, asked)
  known.counts[call.position]!.effects++
  if (asked.key !== null) effects.set(asked.key, { known, call })
  await caught(known, call, 'after-effect', asked.pid)
  await sleep(systemClock, random() * SLOWEST_MS)
  return { result: call.result }
}

function count(known: Known, call: RecordedCall, { key }: WorldCall): void {
  const counted = known.counts[call.position]!
  counted.executions++
  if (key === null) counted.withoutKey++
  else if (!counted.keys.includes(key)) counted.keys.push(key)
}

async function effectOf(key: string, pid: number, conversation: string): Promise<EffectState> {
  const effect = effects.get(key)
  const known = effect?.known ?? conversations.get(conversation)
  if (known) {
    known.asked++
    const trap = known.traps.find(({ point }) => point === 'asked')
    if (trap && pid > 0) await spring(known, trap, pid)
  }
  return effect ? { done: true, output: effect.call.result } : { done: false }
}

async function caught(known: Known, call: RecordedCall, point: WorldTrap['point'], pid: number): Promise<void> {
  const trap = known.traps.find((t) => t.point === point && t.position === call.position)
  if (trap) await spring(known, trap, pid)
}

/** Each trap springs once; the caller gets no answer, its process is about to be killed. */
async function spring(known: Known, trap: WorldTrap, pid: number): Promise<never> {
  known.traps = known.traps.filter((t) => t !== trap)
  const message: WorldCaught = { type: 'caught', conversation: known.conversation, trap, pid }
  process.send?.(message)
  return new Promise<never>(() => {})
}

function report(conversation: string): WorldReport {
  const { counts, strays, asked } = conversations.get(conversation)!
  return { calls: counts satisfies readonly CallCount[], strays, asked }
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? '/', 'http://world')
  const body = request.method === 'POST' ? (JSON.parse(await text(request)) as unknown) : undefined
  const param = (name: string): string => url.searchParams.get(name) ?? ''
  switch (url.pathname) {
    case '/plan': return plan(body as WorldPlan)
    case '/call': return carryOut(body as WorldCall)
    case '/effect': return effectOf(param('key'), Number(param('pid')), param('conversation'))
    case '/report': return report(param('conversation'))
    default: throw new Error(`there is no ${url.pathname}`)
  }
}

const server = createServer((request, response) => {
  answer(request).then(
    (value) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value)),
    (error: unknown) => {
      response.statusCode = 500
      response.end(String(error))
    },
  )
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address) process.send?.({ type: 'listening', url: `http://127.0.0.1:${address.port}` })
})
// Nobody watches any more.
process.on('disconnect', () => process.exit())
