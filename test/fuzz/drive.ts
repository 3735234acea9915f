/** Drives a run on a forged journal, as the process would that finds it, and judges what comes of it. */
import { manualClock, type ManualClock } from '../../src/core/manual-clock.ts'
import { hash } from '../../src/core/hash.ts'
import { HoldfastError } from '../../src/errors.ts'
import { unlink } from '../../src/journal/chain.ts'
import type { DecisionTaken, EffectRef, Entry } from '../../src/journal/entry.ts'
import { newestTaken, type Message } from '../../src/journal/message.ts'
import { readJournal } from '../../src/journal/read.ts'
import type { Store, StoredEntry } from '../../src/journal/store.ts'
import { encodeOwner, thisProcess } from '../../src/run/owner.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { desk, RUN_ID, runnerOf, T0, type Desk } from './desk.ts'
import { type Verdict, Violation } from './violation.ts'

export interface Forgery {
  readonly what: string
  readonly bodies: readonly string[]
  readonly inbox: readonly string[]
  /** Attempts that there were: the token that the row has. */
  readonly attempts: number
  /** The attempt before has given the run back; otherwise its process is known to be dead. */
  readonly released: boolean
  /** The conversation begins with these words, and not with those that the journal has. */
  readonly words?: string
}

/** A process with the id of this one that was started at another time: it is gone. */
const GONE = encodeOwner({ ...thisProcess(), started: '1' })
const NOW = T0 + 60_000
/** A run takes some hundred turns. */
const MOST_TURNS = 10_000
/** Of the clock of the run. Longer waits suspend it. */
const MOST_MS = 120_000

/** @throws Violation. */
export async function judgeDriven(forgery: Forgery, scene = desk(forgery.words)): Promise<Verdict> {
  const clock = new CountingClock()
  const store = await holding(forgery)
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown): void => {
    if (!isOfAnotherTest(error)) unhandled.push(error)
  }
  process.on('unhandledRejection', onUnhandled)
  let verdict: Verdict
  try {
    verdict = await drive(store, scene, clock)
    await clock.idle()
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
  if (unhandled.length > 0) throw new Violation(`an unhandled rejection: ${String(unhandled[0])}`)
  if (clock.pending > 0) throw new Violation(`${verdict}, and ${clock.pending} timers are left`)
  const repeated = repeatedEffect(knownEffects(forgery), scene)
  if (repeated !== undefined) throw new Violation(`${verdict}, and ${repeated}`)
  return verdict
}

/** A run that a test let die loses its lease half a minute later. */
const isOfAnotherTest = (error: unknown): boolean => HoldfastError.isInstance(error) && error.code === 'LEASE_LOST' && error.runId !== RUN_ID

async function drive(store: Store, { agent }: Desk, clock: CountingClock): Promise<Verdict> {
  const runner = runnerOf(agent, store, clock)
  const before = await store.get(RUN_ID)
  const verdict = await ended(clock, 'run', runner.resume(RUN_ID)).then(({ status }) => status, verdictOf)
  const after = await store.get(RUN_ID)
  if (after?.owner != null && after.token !== before?.token) throw new Violation(`${verdict}, and its lease is kept`)
  if (after && verdict !== 'STORE_CORRUPT') await readJournal(store, after).catch((error: unknown) => {
    throw new Violation(`${verdict}, and what it has written cannot be read: ${String(error)}`)
  })
  await ended(clock, 'close', runner.close())
  return verdict
}

/** Lets all go on that can, until the promise has settled, time passing in between: at first a little, then as long as waits are. @throws Violation. */
async function ended<T>(clock: CountingClock, what: string, promise: Promise<T>): Promise<T> {
  let settled = false
  promise.then(() => (settled = true), () => (settled = true))
  const [turns, from] = [clock.turns, clock.now()]
  for (let round = 0; !settled; round++) {
    for (let i = 0; i < 20 && !settled; i++) await clock.idle()
    if (settled) break
    if (clock.turns - turns > MOST_TURNS || clock.now() - from > MOST_MS) throw new Violation(`${what}: it does not come to an end`)
    await clock.advance(round < 20 ? 50 : 1_000)
  }
  return promise
}

/** Counts what makes the event loop turn: who goes on without end arms timers, or waits for it to run dry, without end. */
class CountingClock implements ManualClock {
  readonly #clock = manualClock(NOW)
  turns = 0
  readonly now = (): number => this.#clock.now()
  readonly advance = (ms: number): Promise<void> => this.#clock.advance(ms)
  readonly timer = (ms: number, fn: () => void): (() => void) => {
    this.turns++
    return this.#clock.timer(ms, fn)
  }
  readonly idle = (): Promise<void> => {
    this.turns++
    return this.#clock.idle()
  }
  get pending(): number {
    return this.#clock.pending
  }
}

function verdictOf(error: unknown): Verdict {
  if (error instanceof Violation) throw error
  if (!HoldfastError.isInstance(error)) throw new Violation(`it fails with ${String(error)}`, { cause: error })
  const crash = crashIn(error)
  if (crash) throw new Violation(`${error.code}, over ${String(crash.stack).slice(0, 400)}`, { cause: error })
  return error.code
}

/** A mistake of our code's own among what an error goes back to. */
function crashIn(error: unknown): Error | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const [, first = ''] = (each.stack ?? '').split('\n    at ')
    if ((each instanceof TypeError || each instanceof RangeError || each instanceof ReferenceError) && first.includes(SOURCE)) return each
  }
  return undefined
}
const SOURCE = new URL('../../src/', import.meta.url).pathname

const rowsOf = ({ bodies }: Forgery): StoredEntry[] => {
  let sum = ''
  return bodies.map((body, i) => ({ seq: i + 1, body, sum: (sum = hash(sum, body)) }))
}

async function holding(forgery: Forgery): Promise<Store> {
  const { inbox, attempts, released } = forgery
  const store = memoryStore()
  const [first, ...rest] = rowsOf(forgery)
  await store.create({ runId: RUN_ID, agent: 'desk', threadId: null, createdAt: T0, entries: [first!] })
  for (let token = 0; token < attempts; token++) await store.take(RUN_ID, { expectedToken: token, owner: GONE, leaseUntil: NOW + 10_000, now: T0 })
  await store.append(RUN_ID, { token: attempts, entries: rest, now: T0, ...(released && { patch: { status: 'suspended', resumeAt: null, release: true } }) })
  for (const body of inbox) await store.send(RUN_ID, { question: null, body, now: T0 })
  return store
}

/** Undefined: it cannot be read. */
function entriesOf(forgery: Forgery): Entry[] {
  try {
    return unlink(RUN_ID, rowsOf(forgery)).entries.map(({ entry }) => entry)
  } catch {
    return []
  }
}

/**
 * An effect of which the journal knows is made again. Each call that the handler asks for is answered by one record, or made: where more are known and
 * made than were asked for, one was made again. What was let be done again, was not done, or is another effect by its end, is no more known.
 */
function repeatedEffect(known: readonly Known[], { asked, made }: Desk): string | undefined {
  const again = made.find(({ key }, i) => made.findIndex((other) => other.key === key) < i)
  if (again) return `${again.name} is made twice`
  for (const { name, key } of made) {
    const mine = known.filter((each) => each.name === name)
    if (mine.some((each) => each.key === key)) return `${name} is made again, under the key that the journal has`
    const [calls, times] = [asked.filter((each) => each === name).length, made.filter((each) => each.name === name).length]
    if (times + mine.length > calls) return `${name} is made although the journal has it: ${mine.length} known, ${times} made, ${calls} asked for`
  }
  return undefined
}

interface Known {
  readonly id: string
  /** Of the effect: its tool's, and its own key where it has one, which none that the desk makes has. */
  readonly name: string
  readonly key: string
}

const nameOf = ({ name, key }: Pick<EffectRef, 'name' | 'key'>): string => (key === '' ? name : `${name} ${key}`)

function knownEffects(forgery: Forgery): Known[] {
  const entries = entriesOf(forgery)
  let known: Known[] = []
  const forget = (is: (each: Known) => boolean): void => void (known = known.filter((each) => !is(each)))
  const decided = ({ step, effect, decision }: Pick<DecisionTaken, 'step' | 'effect' | 'decision'>): void => {
    if (decision.type === 'rerun') forget(({ id, name }) => id === step || name === nameOf(effect))
  }
  for (const entry of entries) {
    if (entry.type === 'step-started' && entry.effect) {
      forget(({ id }) => id === entry.step.id)
      known.push({ id: entry.step.id, name: nameOf(entry.effect), key: entry.idempotencyKey })
    } else if (entry.type === 'step-ended' && (entry.outcome.type === 'error' || known.some(({ id, name }) => id === entry.step.id && !(entry.effect && name === nameOf(entry.effect))))) forget(({ id }) => id === entry.step.id)
    else if (entry.type === 'settled' && entry.settlement.type === 'not-done') forget(({ id }) => id === entry.step)
    else if (entry.type === 'decision') decided(entry)
    else if (entry.type === 'consumed') forget(({ id }) => entry.effects.includes(id) || entry.passed?.includes(id) === true)
  }
  for (const body of forgery.inbox.slice(newestTaken(entries.map((entry, i) => ({ entry, seq: i + 1 }))))) {
    const message = JSON.parse(body) as Message
    if (message.type === 'decision') decided(message)
  }
  return known
}
