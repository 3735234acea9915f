/** What must be true of a run when it has ended, judged by who stood outside: the recording, the world, the model server, the journal. */
import type { Entry } from '../../src/index.ts'
import type { RecordedRequest } from '../../src/testing/index.ts'
import type { WorldReport } from './protocol.ts'
import type { Recording } from './recording.ts'

/** Every tool that changes something took effect exactly once; nothing was asked for that was not recorded. */
export function effectViolations({ id, calls }: Recording, report: WorldReport): string[] {
  const violations = report.strays.map((stray) => `${id}: a call that was not recorded: ${stray}`)
  const keys = new Map<string, number>()
  for (const { position, tool, callId, changesState } of calls) {
    const count = report.calls[position]!
    const name = `${id}: call ${position} ${tool} (${callId})`
    if (!changesState) {
      if (count.executions === 0) violations.push(`${name} was never carried out`)
      continue
    }
    if (count.effects === 0) violations.push(`LOST: ${name} never took effect`)
    if (count.effects > 1) violations.push(`REPEATED: ${name} took effect ${count.effects} times`)
    if (count.withoutKey > 0) violations.push(`${name} was asked for without an idempotency key`)
    if (count.keys.length > 1) violations.push(`${name} had ${count.keys.length} idempotency keys`)
    for (const key of count.keys) {
      const other = keys.get(key)
      if (other !== undefined) violations.push(`${name} had the idempotency key of call ${other}`)
      keys.set(key, position)
    }
  }
  return violations
}

/** How many calls that change something took effect exactly once. */
export const exactlyOnce = ({ calls }: Recording, report: WorldReport): number =>
  calls.filter(({ position, changesState }) => changesState && report.calls[position]!.effects === 1).length

/** A kill catches a conversation in one place: in one request, or in the calls of one response. What is done again beyond that was recorded. */
export function reworkViolations({ id, calls, answers }: Recording, report: WorldReport, requests: readonly RecordedRequest[], kills: number): string[] {
  const violations: string[] = []
  const own = requests.filter((request) => request.headers['x-conversation'] === id)
  for (const { error } of own) if (error !== undefined) violations.push(`${id}: the model server refused a request: ${error}`)
  let again = 0
  for (let turn = 1; turn <= answers; turn++) {
    const asked = own.filter((request) => request.turn === turn).length
    if (asked === 0) violations.push(`${id}: answer ${turn} was never asked for`)
    again += Math.max(0, asked - 1)
    again += Math.max(0, ...calls.filter(({ answer }) => answer === turn - 1).map(({ position }) => report.calls[position]!.executions - 1))
  }
  if (again > kills) violations.push(`${id}: ${again} recorded steps ran again, ${kills} kills explain at most as many`)
  return violations
}

export interface JournalFindings {
  readonly violations: readonly string[]
  /** Steps that ran and were recorded; those that a decision answered did not run again. */
  readonly live: number
  /** Calls that were in doubt, each time that they were. */
  readonly doubts: number
  readonly settled: number
}

/** Each step has one end, nothing was superseded, and no doubtful call started again without a decision. */
export function journalFindings(runId: string, recordings: readonly Recording[], entries: readonly Entry[]): JournalFindings {
  const violations: string[] = []
  const open = new Map<string, 'running' | 'doubt'>()
  const ended = new Map<string, number>()
  const kinds = { model: 0, tool: 0 }
  let live = 0
  let doubts = 0
  let settled = 0
  const settle = (step: string): void => {
    if (open.get(step) !== 'doubt') return
    settled++
    open.delete(step)
  }
  for (const entry of entries) {
    switch (entry.type) {
      case 'attempt-started':
        for (const [step, state] of open) {
          if (state === 'running') doubts++
          open.set(step, 'doubt')
        }
        break
      case 'step-started':
        if (open.has(entry.step.id)) violations.push(`${runId}: ${entry.step.id} (${entry.step.name}) was started again without a decision`)
        open.set(entry.step.id, 'running')
        break
      case 'step-ended':
        if (open.get(entry.step.id) === 'doubt') violations.push(`${runId}: the doubt about ${entry.step.id} (${entry.step.name}) ended without having been settled`)
        open.delete(entry.step.id)
        if (entry.tries > 0) live++
        ended.set(entry.step.id, (ended.get(entry.step.id) ?? 0) + 1)
        if (entry.step.kind in kinds) kinds[entry.step.kind as keyof typeof kinds]++
        if (entry.outcome.type !== 'value') violations.push(`${runId}: ${entry.step.id} (${entry.step.name}) ended as ${entry.outcome.type}`)
        break
      case 'settled': case 'decision':
        settle(entry.step)
        break
      case 'superseded':
        violations.push(`${runId}: records were superseded at ${entry.step}: ${entry.reason}`)
        break
      case 'config-changed':
        violations.push(`${runId}: a changed configuration was seen: ${entry.changed.join(', ')}`)
        break
      case 'warning':
        violations.push(`${runId}: a warning: ${entry.code}: ${entry.message}`)
        break
    }
  }
  for (const [step, times] of ended) if (times > 1) violations.push(`${runId}: ${step} was recorded ${times} times`)
  for (const step of open.keys()) violations.push(`${runId}: ${step} was started and never ended`)
  const sum = (of: (recording: Recording) => number): number => recordings.reduce((total, recording) => total + of(recording), 0)
  const expected = { model: sum(({ answers }) => answers), tool: sum(({ calls }) => calls.length) }
  for (const kind of ['model', 'tool'] as const) {
    if (kinds[kind] !== expected[kind]) violations.push(`${runId}: ${kinds[kind]} ${kind} steps were recorded, the recording has ${expected[kind]}`)
  }
  return { violations, live, doubts, settled }
}
