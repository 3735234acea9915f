/** A run's view as text for a terminal. */
import { describeSummary } from '../../run/events.ts'
import { lostText } from '../../run/lost-part.ts'
import { choiceText } from '../hint.ts'
import { jsonLine } from '../json.ts'
import { durationText, timeText } from '../moment.ts'
import { oneLine } from '../printable.ts'
import type { Paint, Style } from '../style.ts'
import { table, type Cell, type Column } from '../table.ts'
import type { RunView } from './run-view.ts'
import { limitsText, usedText } from './usage-text.ts'
import type { StepState } from './step-state.ts'
import type { StepView } from './steps.ts'
import type { CallView, WaitView } from './waits.ts'

export interface TextOptions {
  /** Columns of the terminal; undefined: nothing is cut. */
  readonly width: number | undefined
  readonly paint: Paint
}

/** Input and result are cut here; `--json` has all of them. */
const SHOWN_CHARACTERS = 200

export function showText(view: RunView, options: TextOptions): string {
  const sections = [
    headLines(view, options),
    section('attempts', attemptLines(view, options), options),
    section('steps', stepLines(view, options), options),
    section('why', whyLines(view), options),
    section('decisions', decisionLines(view), options),
    section('settled', view.settlements.map(({ step, by, as, attempt }) => `${step}: ${as}, by ${by} in attempt ${attempt}`), options),
    section('records that do not answer any more', view.divergences.map(({ step, by, reason, superseded, attempt }) =>
      `${step} (${by}, attempt ${attempt}): ${oneLine(reason)}${superseded.length > 0 ? ` [${superseded.join(', ')}]` : ''}`), options),
    section('journal cut where it was damaged', view.salvages.map(({ fault, had, copy, attempt }) => `after attempt ${attempt}: ${fault}; all ${had} entries that it had are kept in ${oneLine(copy)}`), options),
    section('configuration changed', view.configChanges.map(({ step, changed, attempt }) => `${step} (attempt ${attempt}): ${changed.join(', ')}`), options),
    section('warnings', view.warnings.map(({ code, message, attempt }) => `${code} (attempt ${attempt}): ${oneLine(message)}`), options),
    goOnLines(view, options),
  ]
  return `${sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n')).join('\n\n')}\n`
}

const section = (title: string, lines: readonly string[], { paint }: TextOptions): string[] =>
  lines.length === 0 ? [] : [paint('bold', title), ...lines.map((line) => `  ${line}`)]

function headLines(view: RunView, { paint }: TextOptions): string[] {
  const rows: (readonly [string, string])[] = [
    ['run', paint('bold', oneLine(view.runId))],
    ['agent', oneLine(`${view.agent}, version ${view.version}`)],
    ['status', statusText(view)],
    ['created', timeText(view.createdAt)],
    ['updated', timeText(view.updatedAt)],
  ]
  if (view.usage.attempts > 0) rows.push(['used', usedText(view.usage)])
  const limits = limitsText(view.limits)
  if (limits !== '') rows.push(['limits', limits])
  if (view.threadId !== null) rows.push(['thread', oneLine(view.threadId)])
  if (view.input !== undefined) rows.push(['input', shown(view.input)])
  if (view.status === 'completed' && view.result !== undefined) rows.push(['result', shown(view.result)])
  if (view.error) rows.push(['error', oneLine(`${view.error.code ?? view.error.name}: ${view.error.message}`)])
  if (view.reason) rows.push(['reason', oneLine(view.reason)])
  return rows.map(([name, text]) => `${paint('dim', name.padEnd(8))} ${text}`)
}

function statusText({ status, interrupted, owner, resumeAt, due, attempts, waits }: RunView): string {
  if (interrupted) return attempts.length === 0 ? 'interrupted: it was created, and nobody drives it' : 'interrupted: the process that drove it is gone'
  if (owner !== null) return `${status}: ${owner} drives it`
  // Such as one whose journal was cut: nothing in it says what it waits for.
  if (status === 'suspended' && resumeAt === null && waits.length === 0) return 'suspended: it waits for somebody to resume it'
  if (status === 'suspended') return resumeAt === null ? 'suspended' : due ? `suspended, due since ${timeText(resumeAt)}: it can go on` : `suspended until ${timeText(resumeAt)}`
  return status
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? oneLine(value) : jsonLine(value).trimEnd()
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)` : text
}

function attemptLines(view: RunView, { width, paint }: TextOptions): string[] {
  const columns: Column[] = [{ title: '#', align: 'right' }, { title: 'STARTED' }, { title: 'ENDING' }, { title: 'SUMMARY', cut: 'end' }]
  const rows = view.attempts.map(({ attempt, startedAt, ending, summary }) => [String(attempt), timeText(startedAt), ending, summary ? describeSummary(summary) : '-'])
  return rows.length === 0 ? [] : table(columns, rows, { width: inner(width), paint })
}

const STYLES: Readonly<Partial<Record<StepState, Style>>> = {
  'completed': 'green', 'failed': 'red', 'in-doubt': 'yellow', 'waiting': 'yellow', 'running': 'cyan', 'superseded': 'dim',
}

function stepLines(view: RunView, { width, paint }: TextOptions): string[] {
  const columns: Column[] = [
    { title: 'STEP', cut: 'middle' }, { title: 'WHAT', cut: 'end' }, { title: 'STATE' }, { title: '#', align: 'right' }, { title: 'REPLAYED', align: 'right' },
    { title: 'TRIES', align: 'right' }, { title: 'TIME', align: 'right' }, { title: 'TOKENS', align: 'right' },
  ]
  const rows = view.steps.map((step): Cell[] => [
    step.id,
    step.name === null ? '-' : `${step.kind ?? ''} ${step.name}`,
    { text: stateText(step), style: STYLES[step.state] },
    orDash(step.attempt),
    step.replayedAtLeast === step.replayedAtMost ? String(step.replayedAtLeast) : `${step.replayedAtLeast}-${step.replayedAtMost}`,
    orDash(step.tries),
    step.ms === null ? '-' : durationText(step.ms),
    tokens(step.inputTokens, step.outputTokens),
  ])
  if (rows.length === 0) return []
  const { steps, inputTokens, outputTokens, ms } = view.totals
  return [...table(columns, rows, { width: inner(width), paint }), paint('dim', `${steps} ${steps === 1 ? 'step' : 'steps'}, ${durationText(ms)}, ${inputTokens} tokens in, ${outputTokens} out`)]
}

const stateText = ({ state, superseded }: StepView): string =>
  state === 'in-doubt' ? `in doubt${superseded ? ', superseded' : ''}` : state === 'not-done' ? 'not done' : state

const orDash = (value: number | null): string => (value === null ? '-' : String(value))

const tokens = (input: number | null, output: number | null): string => (input === null && output === null ? '-' : `${orDash(input)}/${orDash(output)}`)

const whyLines = (view: RunView): string[] =>
  view.steps.flatMap((step) => (step.why === null ? [] : [`${step.id} ${stateText(step)}: ${oneLine(step.why)}`]))

const decisionLines = (view: RunView): string[] => view.decisions.map(({ step, decision, by, attempt, usedBy }) => {
  const what = `${step}: ${decision}${by === null ? '' : ` by ${oneLine(by)}`}`
  if (attempt === null) return `${what}, taken in by the next attempt`
  return `${what}, taken in by attempt ${attempt}, ${usedBy === null ? 'not used yet' : `used by ${usedBy}`}`
})

/** What it waits for and how it goes on: whole lines, to be copied. */
function goOnLines(view: RunView, options: TextOptions): string[] {
  const { waits, unread, resume } = view
  const isKnown = view.decisions.some(({ attempt }) => attempt === null)
  const lines = waitLines(waits, options)
  if (unread > 0 && !isKnown) lines.push('', `${unread} ${unread === 1 ? 'message waits' : 'messages wait'} in its inbox for the next attempt`)
  if (resume !== null && view.cleanUp.length > 0) {
    lines.push('', `Behind its failure was done: ${view.cleanUp.map(oneLine).join(', ')}. What was done before may be undone by that. From each step on that was undone (several with commas) it goes on with`, `  ${resume} --redo STEP`)
    lines.push('Where none was, it goes on with', `  ${resume} --force`)
  } else if (resume !== null) lines.push('', waits.some(({ choices }) => choices.length > 0) ? 'Then it goes on with' : 'It goes on with', `  ${resume}`)
  return lines[0] === '' ? lines.slice(1) : lines
}

export function waitLines(waits: readonly WaitView[], { paint }: Pick<TextOptions, 'paint'>): string[] {
  if (waits.length === 0) return []
  return [paint('bold', 'waits for'), ...waits.flatMap(({ type, step, message, calls, choices, decided, started }) => [
    `  ${paint('yellow', type === 'in-doubt' && !started ? 'waiting' : type)}${step === null ? '' : ` ${oneLine(step)}`}: ${oneLine(message)}`,
    ...calls.flatMap(callLines),
    ...(decided === null ? [] : [`    decided: ${decided}`]),
    ...choices.flatMap(({ choice, of, command }) => [`    ${oneLine(choiceText(choice, { started: started === true, of }))}:`, `      ${command}`]),
  ])]
}

/** What somebody needs who asks the outside world about it. */
const callLines = ({ step, tool, input, startedAt, lostBefore, idempotencyKey, answered }: CallView): string[] => [
  `    ${oneLine(`${step} ${tool}`)}${input === null ? '' : ` ${shown(input)}`}`,
  startedAt === null && lostBefore === null ? `      not started${answered ? ': its result was given, by a person or by an earlier call' : ''}` : `      ${lostBefore === null ? `started ${timeText(startedAt!)}` : lostText(lostBefore)}${idempotencyKey === null ? '' : `, idempotency key ${oneLine(idempotencyKey)}`}`,
]

const inner = (width: number | undefined): number | undefined => (width === undefined ? undefined : Math.max(78, width - 2))
