/** What the processes of a trial say to each other: the one that watches, the ones that drive a run, and the outside world. */
import type { SuspendReason } from '../../src/index.ts'

/** One conversation of a run. */
export interface Talk {
  readonly id: string
  readonly turns: readonly string[]
  /** The model answers this often: a recording may end with a tool's result. */
  readonly answers: number
  readonly streamed: boolean
}

/** The input of the run. */
export interface TrialInput {
  readonly talks: readonly Talk[]
}

/** Who settles doubts: the tool's `reconcile`, or a person (the watching process) through `resolve`. */
export type Settling = 'reconcile' | 'resolve'

/** At which write, counted over this process, the process dies: before it, while it is on its way, or when it is durable. */
export interface WriteKill {
  readonly by: 'write'
  readonly write: number
  readonly when: 'before' | 'during' | 'after'
}

/** Killed from outside so many ms after it began. */
export interface ClockKill {
  readonly by: 'clock'
  readonly afterMs: number
}

export type Kill = WriteKill | ClockKill

/** What a driving process is told to do. */
export interface Job {
  readonly runId: string
  readonly input: TrialInput
  readonly dir: string
  readonly store: string
  readonly log: string
  readonly model: string
  readonly world: string
  readonly settling: Settling
  /** Whether it uses `resume` where the run exists, in the place of `run`. */
  readonly resume: boolean
  readonly attempt: number
  readonly kill: Kill | undefined
  /** What becomes of the process at the write that completes the run: it dies before it (kills are still planned), after it, or lives. */
  readonly atEnd: 'die-before' | 'die-after' | 'live'
}

/** What a driving process says. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'ended'; readonly status: string; readonly reasons: readonly SuspendReason[] }
  | { readonly type: 'failed'; readonly error: string }

/** A line of the log of a run; it outlives the process that wrote it. */
export interface LogLine {
  readonly attempt: number
  /** The type of the event, or `killed`. */
  readonly type: string
  readonly step?: string
  readonly text?: string
}

/** A tool call as the world is asked to carry it out. */
export interface WorldCall {
  readonly conversation: string
  /** How many answers of the model came before the one that asks: known from the AI SDK's messages, not from Holdfast. */
  readonly answer: number
  readonly callId: string
  readonly tool: string
  readonly input: unknown
  /** The idempotency key; null for tools that only read. */
  readonly key: string | null
  readonly pid: number
}

/** Where the world has a driving process killed: at a call before or after its effect, or when `reconcile` asks. */
export type WorldPoint = 'before-effect' | 'after-effect' | 'asked'

export interface WorldTrap {
  readonly position: number
  readonly point: WorldPoint
}

/** Said by the world when a trap has caught a call: it answers only to a process that lives on. */
export interface WorldCaught {
  readonly type: 'caught'
  readonly conversation: string
  readonly trap: WorldTrap
  readonly pid: number
}

/** What the world counted of one tool call of a recording. */
export interface CallCount {
  /** How often it was asked to carry it out. */
  readonly executions: number
  readonly withoutKey: number
  /** How often it took effect (of a tool that changes something). */
  readonly effects: number
  readonly keys: readonly string[]
}

export interface WorldReport {
  readonly calls: readonly CallCount[]
  /** Calls that the recording does not have in their place. */
  readonly strays: readonly string[]
  readonly asked: number
}
