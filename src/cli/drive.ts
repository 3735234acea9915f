/** Drives a run in this process: progress, signals, and what became of it. */
import type { SuspendReason } from '../journal/entry.ts'
import type { CallOptions, Runner } from '../runner/runner.ts'
import type { Outcome } from '../runner/outcome.ts'
import type { StampedEvent } from '../run/events.ts'
import type { Arguments } from './arguments.ts'
import { reportError } from './error-report.ts'
import { EXIT, exitCodeFor, exitCodeOf } from './exit-code.ts'
import { resumeCommand, type Place } from './hint.ts'
import type { Io } from './io.ts'
import { jsonText } from './json.ts'
import { timeText } from './moment.ts'
import { oneLine, printableLines } from './printable.ts'
import { progress } from './progress.ts'
import { closeOnSignal } from './stop.ts'
import { paintFor } from './style.ts'
import { waitLines } from './view/show-text.ts'
import { reasonView, waitView } from './view/waits.ts'

/** Resolves to the exit code. The runner is closed then. */
export async function drive(runId: string, runner: Runner, args: Arguments, io: Io, call: (options: CallOptions) => Promise<Outcome>): Promise<number> {
  const json = args.flags.has('json')
  const show = args.flags.has('quiet') ? () => {} : progress(io, { json })
  let runFailed = false
  const onEvent = (event: StampedEvent): void => {
    if (event.type === 'run-failed') runFailed = true
    show(event)
  }
  const stop = closeOnSignal(runner, io, { tell: !args.flags.has('quiet') && !json })
  try {
    const outcome = await call({ onEvent, allowMismatch: args.flags.has('allow-mismatch') })
    io.out.write(json ? jsonText({ runId, ...outcome, ...(outcome.status === 'suspended' && { reasons: outcome.reasons.map(reasonView) }) }) : outcomeText(runId, outcome, placeOf(args), io))
    return exitCodeFor(outcome.status, stop.signal)
  } catch (error) {
    const code = stop.signal !== undefined && !runFailed ? EXIT[stop.signal] : exitCodeOf(error, { runFailed })
    // Standard error is often kept as a log. (The module may have a copy of the package that knows no mask.)
    reportError((runner as Partial<Runner>).mask ? runner.mask(error) : error, code, json, io)
    return code
  } finally {
    await runner.close().catch(() => {})
    stop.ignore()
  }
}

/** What the user said about where things are, for the commands that are shown. */
export const placeOf = ({ values: { store, module } }: Arguments): Place => ({ ...(store !== undefined && { store }), ...(module !== undefined && { module }) })

function outcomeText(runId: string, outcome: Outcome, place: Place, io: Io): string {
  switch (outcome.status) {
    case 'completed': {
      const { result } = outcome
      if (result === undefined) return ''
      return typeof result === 'string' ? `${printableLines(result)}\n` : jsonText(result)
    }
    case 'suspended': return suspendedText(runId, outcome.reasons, outcome.resumeAt, place, io)
    case 'running': return `run ${runId} is driven by ${oneLine(outcome.owner)}; nothing was done here\n`
    case 'cancelled': return `run ${runId} was cancelled: ${oneLine(outcome.reason)}\n`
  }
}

function suspendedText(runId: string, reasons: readonly SuspendReason[], resumeAt: number | undefined, place: Place, io: Io): string {
  const waits = reasons.map((reason) => waitView(runId, reason, place))
  const until = resumeAt === undefined ? '' : resumeAt <= io.now() ? ', and can go on at once' : ` until ${timeText(resumeAt)}`
  const paint = paintFor(io.out, io.env)
  const then = waits.some(({ choices }) => choices.length > 0) ? 'Then it goes on with' : 'It goes on with'
  return `${[`run ${runId} is suspended${until}`, ...waitLines(waits, { paint }), then, `  ${resumeCommand(runId, place)}`].join('\n')}\n`
}
