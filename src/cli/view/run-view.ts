/** A run as `show` presents it, derived from its journal. Pure; field names are stable: `show --json` prints them. */
import { HoldfastError, type RunUsage } from '../../errors.ts'
import type { Placed } from '../../journal/chain.ts'
import { decode } from '../../journal/codec.ts'
import type { LimitsRecord } from '../../journal/entry.ts'
import { readMessage, takenSeq, type Message } from '../../journal/message.ts'
import type { InboxMessage, RunRow, RunStatus } from '../../journal/store.ts'
import type { History } from '../../replay/history.ts'
import { isNews } from '../../run/inbox.ts'
import { givenLimits } from '../../run/limits.ts'
import { messageOf } from '../../run/readable.ts'
import { usageOf } from '../../run/usage.ts'
import { isDue } from '../../runner/recover.ts'
import { resumeCommand, type Place } from '../hint.ts'
import { AttemptLog, type AttemptView } from './attempts.ts'
import { Findings, type FoundView } from './findings.ts'
import { statusOf } from './run-status.ts'
import { StepLog, type StepView, type TakenDecision } from './steps.ts'
import { decidedOf, waitsOf, type WaitView } from './waits.ts'

export interface RunView extends FoundView {
  readonly runId: string
  readonly agent: string
  readonly version: string
  readonly threadId: string | null
  readonly status: RunStatus
  /** The status is `running`, but nobody drives it: its process died, or it was never driven. */
  readonly interrupted: boolean
  /** Who drives it now. */
  readonly owner: string | null
  /** Times are ms since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
  /** From when on a suspended run can go on: by itself, or because somebody has answered. */
  readonly resumeAt: number | null
  /** That has come: `recover` drives it. */
  readonly due: boolean
  readonly input: unknown
  /** Of a completed run; undefined (in JSON null) where it gave nothing. */
  readonly result: unknown
  /** Of a run that failed last. */
  readonly error: { readonly name: string; readonly message: string; readonly code: string | null } | null
  /** Of a run that was cancelled. */
  readonly reason: string | null
  /** Of a run that failed: steps that were done behind the failure, and may have undone what was done before. It goes on with `--redo` or `--force` alone. */
  readonly cleanUp: readonly string[]
  readonly attempts: readonly AttemptView[]
  readonly steps: readonly StepView[]
  /** Over all attempts, replay apart. */
  readonly usage: RunUsage
  /** Limits that its calls gave it (null: none); those of the runner are in its module. */
  readonly limits: LimitsRecord
  readonly totals: { readonly steps: number; readonly inputTokens: number; readonly outputTokens: number; readonly ms: number }
  readonly decisions: readonly DecisionView[]
  /** Messages that the next attempt takes in. */
  readonly unread: number
  readonly waits: readonly WaitView[]
  /** What drives it on; null where there is nothing to drive, or somebody does. */
  readonly resume: string | null
}

export interface DecisionView {
  readonly step: string
  readonly decision: TakenDecision['decision']
  /** Who decided, where that was said. */
  readonly by: string | null
  /** The attempt that took it in; null: the next one does. */
  readonly attempt: number | null
  /** The step that used it up. */
  readonly usedBy: string | null
}

export interface ViewInput {
  readonly row: RunRow
  readonly entries: readonly Placed[]
  /** Who drives the run now, in words; null: nobody. */
  readonly owner: string | null
  /** The messages that the journal has not taken in; undefined: not known. */
  readonly inbox: readonly InboxMessage[] | undefined
  /** For the commands in it. */
  readonly place: Place
  /** ms since the epoch. Absent: nothing is due. */
  readonly now?: number
}

export function runView({ row: given, entries, owner, inbox = [], place, now = -Infinity }: ViewInput): RunView {
  const row = { ...given, status: statusOf(given, entries) }
  const { runId, status } = row
  const attempts = new AttemptLog()
  const steps = new StepLog()
  const findings = new Findings()
  let taken = 0
  for (const { entry, seq } of entries) {
    attempts.apply(entry)
    steps.apply(entry, seq)
    findings.apply(entry, steps.attempt)
    taken = Math.max(taken, takenSeq(entry))
  }
  const messages = inbox.map((sent) => readMessage(row.runId, sent))
  const pending = messages.filter((message) => message.type !== 'late-result')
  const decisions: DecisionView[] = [
    ...steps.decisions(),
    ...pending.map(({ step, decision }) => ({ step, decision: decision.type, by: ('by' in decision && decision.by) || null, attempt: null, usedBy: null })),
  ]
  const known = { ...decidedOf(decisions.filter(({ usedBy }) => usedBy === null)), ended: endedOf(messages, steps.history) }
  const isOver = status === 'completed' || status === 'cancelled'
  const canGoOn = owner === null && !isOver
  // What somebody is asked about may be answered while the run is driven; what is in doubt may be on its way then.
  const waits = isOver ? [] : waitsOf(runId, entries, steps.history, known, place, now).filter(({ type }) => canGoOn || type === 'approval')
  const waiting = new Map(waits.flatMap(({ step, tool }) => (step === null ? [] : [[step, tool] as const])))
  const views = steps.views({ driver: owner === null ? undefined : row.token, waiting })
  return {
    runId,
    ...beginningOf(row, entries),
    status,
    interrupted: status === 'running' && owner === null,
    owner,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    resumeAt: row.resumeAt,
    due: isDue(row, now),
    ...endOf(row, entries),
    attempts: attempts.views(owner !== null),
    steps: views,
    usage: usageOf(entries),
    limits: givenLimits(entries),
    totals: totalsOf(views),
    ...findings.found,
    decisions,
    unread: isOver ? 0 : Math.max(0, row.inboxSeq - taken),
    waits,
    resume: canGoOn ? resumeCommand(runId, place, status) : null,
  }
}

/** Steps of which the inbox says what came of them: nothing is left to decide about those (C20). */
function endedOf(messages: readonly Message[], { ledger }: History): ReadonlySet<string> {
  return new Set(messages.flatMap((message) => {
    const effect = message.type === 'late-result' ? ledger.effects.get(message.step) : undefined
    return effect && message.type === 'late-result' && isNews(effect, message) ? [message.step] : []
  }))
}

function beginningOf(row: RunRow, entries: readonly Placed[]): Pick<RunView, 'agent' | 'version' | 'threadId' | 'input'> {
  const created = entries[0]?.entry
  if (created?.type !== 'run-created') {
    throw new HoldfastError('STORE_CORRUPT', `the journal of run "${row.runId}" does not begin with its creation`, { runId: row.runId })
  }
  return { agent: created.agent, version: created.version, threadId: row.threadId, input: decode(created.input, 'input') }
}

/** How it ended, where it has: a run that is driven again after a failure has not. */
function endOf(row: RunRow, entries: readonly Placed[]): Pick<RunView, 'result' | 'error' | 'reason' | 'cleanUp'> {
  const last = entries.findLast(({ entry }) => entry.type === 'run-ended')?.entry
  const end = last?.type === 'run-ended' && last.status === row.status ? last : undefined
  return {
    result: end?.result && decode(end.result, 'result'),
    error: end?.error ? errorView(decode(end.error, 'error')) : null,
    reason: end?.reason ?? null,
    cleanUp: end?.cleanUp ?? [],
  }
}

function errorView(error: unknown): RunView['error'] {
  if (!(error instanceof Error)) return { name: 'Error', message: messageOf(error), code: null }
  return { name: error.name, message: error.message, code: 'code' in error && typeof error.code === 'string' ? error.code : null }
}

function totalsOf(steps: readonly StepView[]): RunView['totals'] {
  const sum = (of: (step: StepView) => number | null): number => steps.reduce((total, step) => total + (of(step) ?? 0), 0)
  return { steps: steps.length, inputTokens: sum((s) => s.inputTokens), outputTokens: sum((s) => s.outputTokens), ms: sum((s) => s.ms) }
}
