/** Drives one run from its start through all of its kills to its end, and judges it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Runner } from '../../src/index.ts'
import { startModelServerProcess, type FaultPlan } from '../../src/testing/index.ts'
import type { TrialResult } from './agent.ts'
import { attempt, type AttemptEnd, type Traps } from './attempt.ts'
import { endWithUs } from '../children.ts'
import { entriesOf, Schedule, trapsOf, type TrialRun } from './plan.ts'
import type { Job, LogLine } from './protocol.ts'
import { settleFromOutside } from '../settle.ts'
import { transcriptDifference } from './transcript.ts'
import { effectViolations, exactlyOnce, journalFindings, reworkViolations } from './verdict.ts'
import { effectOf, planConversation, reportOf } from './world-client.ts'

/** What the trials of one call share. */
export interface Grounds {
  readonly dir: string
  /** Holds the store and the logs. */
  readonly folder: string
  readonly store: string
  readonly world: string
  readonly traps: Traps
  /** Looks into the store and decides; drives nothing. */
  readonly runner: Runner
  readonly kills: number
}

export interface Verdict {
  readonly runId: string
  readonly loops: string
  readonly settling: string
  readonly conversations: number
  /** Conversations whose transcript is the recorded one. */
  readonly equal: number
  readonly calls: number
  readonly effects: number
  /** Effects that the world saw exactly once. */
  readonly once: number
  readonly kills: { readonly write: number; readonly clock: number; readonly world: number }
  readonly attempts: number
  readonly replayed: number
  readonly live: number
  readonly doubts: number
  readonly settled: number
  readonly ms: number
  readonly violations: readonly string[]
}

/** The model takes its time, so that the clock can catch a request, and a stream in its middle. */
const SLOW_MODEL: FaultPlan = Array.from({ length: 100 }, (_, i) => ({ turn: i + 1, try: 'every', fault: { kind: 'delay', beforeMs: 5, betweenMs: 1 } }))

export async function tryRun(run: TrialRun, grounds: Grounds): Promise<Verdict> {
  const began = performance.now()
  const { runId, recordings, talks, settling, random } = run
  const { world, runner, kills } = grounds
  for (const recording of recordings) {
    await planConversation(world, { conversation: recording.id, calls: recording.calls, traps: trapsOf(recording, settling, random) })
  }
  const server = await startModelServerProcess({ conversations: recordings.map(({ conversation }) => conversation), faults: SLOW_MODEL })
  const forget = endWithUs(server.pid)
  try {
    const log = join(grounds.folder, `${runId}.log`)
    const job: Omit<Job, 'attempt' | 'resume' | 'kill' | 'atEnd'> = {
      runId, input: { talks }, dir: grounds.dir, store: grounds.store, log, model: server.url, world, settling,
    }
    const driven = await drive(run, job, grounds)
    const lines = readFileSync(log, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean).map((line) => JSON.parse(line) as LogLine)
    const violations = [...driven.violations, ...lines.flatMap((line) => unexpected(runId, line))]
    let live = 0
    let doubts = 0
    let settled = 0
    let equal = 0
    let once = 0
    if (driven.completed) {
      const outcome = await runner.result(runId)
      const result = (outcome.status === 'completed' ? outcome.result : {}) as TrialResult
      const made = driven.kills.write + driven.kills.clock + driven.kills.world
      const requests = await server.requests()
      for (const recording of recordings) {
        const difference = transcriptDifference(recording.conversation, result[recording.id] ?? [])
        if (difference === undefined) equal++
        else violations.push(`${recording.id}: the transcript is not the recorded one: ${difference}`)
        const report = await reportOf(world, recording.id)
        once += exactlyOnce(recording, report)
        violations.push(...effectViolations(recording, report), ...reworkViolations(recording, report, requests, made))
      }
      const journal = journalFindings(runId, recordings, (await runner.history(runId)).map(({ entry }) => entry))
      violations.push(...journal.violations)
      ;({ live, doubts, settled } = journal)
    }
    const planned = driven.kills.write + driven.kills.clock
    if (driven.completed && planned < kills) violations.push(`${runId}: only ${planned} of ${kills} planned kills were made`)
    return {
      runId,
      loops: talks.map(({ streamed }) => (streamed ? 'stream' : 'generate')).join('+'),
      settling,
      conversations: recordings.length,
      equal,
      once,
      calls: recordings.reduce((sum, { calls }) => sum + calls.length, 0),
      effects: recordings.reduce((sum, { calls }) => sum + calls.filter(({ changesState }) => changesState).length, 0),
      kills: driven.kills,
      attempts: driven.attempts,
      replayed: lines.filter(({ type }) => type === 'step-replayed').length,
      live,
      doubts,
      settled,
      ms: Math.round(performance.now() - began),
      violations,
    }
  } finally {
    await server.close()
    forget()
  }
}

interface Driven {
  readonly completed: boolean
  readonly kills: { write: number; clock: number; world: number }
  readonly attempts: number
  readonly violations: readonly string[]
}

async function drive(run: TrialRun, job: Omit<Job, 'attempt' | 'resume' | 'kill' | 'atEnd'>, { folder, runner, traps, world, kills: planned }: Grounds): Promise<Driven> {
  const { runId, recordings, random } = run
  const schedule = new Schedule(planned, entriesOf(recordings), random)
  const kills = { write: 0, clock: 0, world: 0 }
  // Once in three, the process dies after the run has completed: the next one finds the result.
  let diesAfter = random() < 1 / 3
  const most = 4 * planned + 20
  // Each process loads the same code: compiled once.
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const ended = (completed: boolean, attempts: number, violation?: string): Driven =>
    ({ completed, kills, attempts, violations: violation === undefined ? [] : [`${runId}: ${violation}`] })

  for (let number = 1; number <= most; number++) {
    const row = await runner.get(runId)
    const kill = schedule.next(row?.lastSeq ?? 0)
    const atEnd = kill ? 'die-before' : diesAfter ? 'die-after' : 'live'
    const end: AttemptEnd = await attempt({ ...job, attempt: number, resume: random() < 0.5, kill, atEnd }, traps, env)
    if (end.type === 'killed') {
      kills[end.by]++
      if (end.by === 'world') continue
      if (kill) schedule.made()
      else diesAfter = false
    } else if (end.type === 'failed') {
      return ended(false, number, `attempt ${number} failed: ${end.error}`)
    } else if (end.status === 'completed') {
      return ended(true, number)
    } else if (end.status === 'suspended' && run.settling === 'resolve') {
      try {
        await settleFromOutside(runner, runId, end.reasons, (key) => effectOf(world, key))
      } catch (error) {
        return ended(false, number, `attempt ${number} suspended, and cannot be settled: ${String(error)}`)
      }
    } else {
      return ended(false, number, `attempt ${number} came to "${end.status}": ${end.reasons.map(({ message }) => message).join('; ')}`)
    }
  }
  return ended(false, most, `it has not ended after ${most} attempts`)
}

/** Events that have no place in a run of the same program over a model and tools that work. */
function unexpected(runId: string, { type, attempt: number, step, text }: LogLine): string[] {
  const isBad = type === 'replay-diverged' || type === 'warning' || type === 'step-reset' || type === 'retry-wait' || type === 'config-changed'
  return isBad ? [`${runId}: ${type} in attempt ${number}${step === undefined ? '' : ` at ${step}`}: ${text ?? ''}`] : []
}
