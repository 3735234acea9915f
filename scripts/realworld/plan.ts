/** What is tried: which conversations run together, how, and at which points their process is killed. All of it follows from the seed. */
import { hash } from '../../src/core/hash.ts'
import { seededRandom, type Random } from '../../src/core/random.ts'
import type { Conversation } from '../../src/testing/index.ts'
import type { Kill, Settling, Talk, WorldTrap } from './protocol.ts'
import { merged, recordingOf, type Recording } from './recording.ts'

export interface PlanOptions {
  readonly seed: number
  /** Kills of each run by a count of writes or by the clock; those by the world come on top. */
  readonly kills: number
  readonly parallel: boolean
  /** With `parallel`: neighbouring calls that change something become parallel too. */
  readonly effects: boolean
  readonly only: string | undefined
  /** Take this many runs, spread over all of them. */
  readonly most: number | undefined
}

export interface TrialRun {
  readonly runId: string
  readonly recordings: readonly Recording[]
  readonly talks: readonly Talk[]
  readonly settling: Settling
  readonly random: Random
}

/**
 * Each conversation is a run, or two neighbours are (often the same customer with the same wish, told twice). Two things
 * alternate, so that each half of the runs has one of them and four seeds in a row try all: generateText or streamText,
 * `reconcile` or `resolve`.
 */
export function planRuns(conversations: readonly Conversation[], options: PlanOptions): TrialRun[] {
  const { seed, parallel, effects, only, most } = options
  const recordings = conversations.map((conversation) => recordingOf(parallel ? merged(conversation, effects) : conversation))
  const size = parallel ? 2 : 1
  const groups = recordings.flatMap((_, i) => (i % size === 0 ? [recordings.slice(i, i + size)] : []))
  const runs = groups.map((group, i): TrialRun => {
    const turn = (i + seed) % 4
    const runId = group.map(({ id }) => id).join('+')
    return {
      runId,
      recordings: group,
      talks: group.map(({ id, turns, answers }, j) => ({ id, turns, answers, streamed: (turn + j) % 2 === 1 })),
      settling: turn < 2 ? 'reconcile' : 'resolve',
      random: seededRandom(Number.parseInt(hash(String(seed), runId).slice(0, 8), 16)),
    }
  })
  if (only !== undefined) return runs.filter(({ runId, recordings: group }) => runId === only || group.some(({ id }) => id === only))
  return most === undefined || most >= runs.length ? runs : runs.filter((_, i) => Math.floor((i * most) / runs.length) !== Math.floor(((i - 1) * most) / runs.length))
}

/** Where the world has the process killed: once after an effect, once before one, and for `reconcile` sometimes when it asks. */
export function trapsOf({ calls }: Recording, settling: Settling, random: Random): WorldTrap[] {
  const positions = calls.filter((call) => call.changesState).map(({ position }) => position)
  if (positions.length === 0) return []
  const pick = (): number => positions[Math.floor(random() * positions.length)]!
  const traps: WorldTrap[] = [{ position: pick(), point: 'after-effect' }, { position: pick(), point: 'before-effect' }]
  return settling === 'reconcile' && random() < 0.5 ? [...traps, { position: -1, point: 'asked' }] : traps
}

/** Entries that a run without a kill writes into its journal. */
export const entriesOf = (recordings: readonly Recording[]): number =>
  recordings.reduce((sum, { answers, calls }) => sum + answers + calls.length + calls.filter((call) => call.changesState).length, 3)

/** A step takes about this long, live and replayed, ms: the clock's kills are spread by it. */
const LIVE_MS = 14
const REPLAY_MS = 3
/** Writes of a process before it has done anything: the lease, its attempt. */
const FIRST_WRITES = 2

/** The kills of a run, half by writes and half by the clock, spread over what is left of it. */
export class Schedule {
  readonly #random: Random
  readonly #kinds: Kill['by'][]
  readonly #entries: number
  #lastSeq = -1
  #idle = 0

  constructor(kills: number, entries: number, random: Random) {
    this.#random = random
    this.#entries = entries
    this.#kinds = Array.from({ length: kills }, (_, i) => (i % 2 === 0 ? 'write' : 'clock'))
    for (let i = kills - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[this.#kinds[i], this.#kinds[j]] = [this.#kinds[j]!, this.#kinds[i]!]
    }
  }

  get left(): number {
    return this.#kinds.length
  }

  /** The next kill, for a process that starts with a journal of `lastSeq` entries. */
  next(lastSeq: number): Kill | undefined {
    const [by] = this.#kinds
    if (by === undefined) return undefined
    this.#idle = lastSeq > this.#lastSeq + FIRST_WRITES ? 0 : this.#idle + 1
    this.#lastSeq = lastSeq
    const share = Math.max(2, (this.#entries - lastSeq) / (this.left + 1)) * 1.5
    // A run whose process dies again and again without progress is stalled, and rightly so: not here.
    const least = this.#idle >= 2 ? 1 : 0
    if (by === 'clock') {
      const replayMs = lastSeq * REPLAY_MS
      return { by, afterMs: Math.round(least * replayMs + this.#random() * (replayMs + share * LIVE_MS)) }
    }
    const whens = ['before', 'during', 'after'] as const
    const write = 1 + least * (FIRST_WRITES + 2) + Math.floor(this.#random() * (FIRST_WRITES + share))
    return { by, write, when: whens[Math.floor(this.#random() * whens.length)]! }
  }

  /** The process died as planned, or at the end of the run where that came first. */
  made(): void {
    this.#kinds.shift()
  }
}
