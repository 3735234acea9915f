/** `holdfast recover` */
import type { Outcome } from '../../runner/outcome.ts'
import type { Runner } from '../../runner/runner.ts'
import type { StampedEvent } from '../../run/events.ts'
import type { Arguments } from '../arguments.ts'
import { usage } from '../cli-error.ts'
import { JSON_OPTION, HELP_OPTION, MODULE_OPTION, QUIET_OPTION, type Command } from '../command.ts'
import { readDuration } from '../duration.ts'
import { describeError, reportError } from '../error-report.ts'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { jsonLine, jsonText } from '../json.ts'
import { clockText, timeText } from '../moment.ts'
import { oneLine } from '../printable.ts'
import { progress } from '../progress.ts'
import { loadRunner } from '../runner-module.ts'
import { paintFor } from '../style.ts'
import { closeOnSignal } from '../stop.ts'
import { recoveredLine, recoveredText, recoveredView, type RecoveredView } from '../view/recovered.ts'

export const recover: Command = {
  spec: {
    name: 'recover',
    summary: 'drive the runs that nobody drives although they could go on',
    positionals: [],
    options: [
      { name: 'watch', text: 'go on looking for such runs, until SIGINT or SIGTERM' },
      { name: 'every', value: 'TIME', text: 'with --watch: how often to look, such as 500ms, 2s or 1m; default 2s' },
      { name: 'concurrency', value: 'N', text: 'how many runs are driven at a time; default 10' },
      MODULE_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION,
    ],
    notes: [
      'Those are runs that were interrupted (their process is dead, or its lease is over) and runs that are due: their wait is over, somebody has answered, or their process was stopped. A run that failed, or that its caller stopped, is left alone.',
      'Without --watch it looks once and prints what became of each run when all have ended or wait again: for cron. Exit code 1: one failed, or could not be driven. With --watch it prints a line as each run ends; several processes may share a store.',
      'SIGINT and SIGTERM: running steps may end, none starts, and any other process goes on from there. A second signal ends the process at once.',
    ],
    examples: ['holdfast recover', 'holdfast recover --watch --module ./agents.ts', 'holdfast recover --watch --every 10s --concurrency 4 --json'],
  },
  async run(args, io) {
    const { values: { every, concurrency }, flags } = args
    if (every !== undefined && !flags.has('watch')) throw usage('--every says how often --watch looks', 'Give --watch too')
    if (concurrency !== undefined && !/^[1-9]\d{0,5}$/.test(concurrency)) throw usage(`--concurrency must be a whole number from 1, got ${JSON.stringify(concurrency)}`)
    const options = { ...(concurrency !== undefined && { concurrency: Number(concurrency) }) }
    const everyMs = every === undefined ? {} : { everyMs: readDuration('--every', every) }
    const runner = await loadRunner(args.values['module'], io)
    return flags.has('watch') ? watch(runner, { ...options, ...everyMs }, args, io) : once(runner, options, args, io)
  },
}

async function once(runner: Runner, options: object, { flags }: Arguments, io: Io): Promise<number> {
  const json = flags.has('json')
  const show = flags.has('quiet') ? () => {} : progress(io, { json, ofSeveral: true })
  const failed = new Set<string>()
  const onEvent = (event: StampedEvent): void => {
    if (event.type === 'run-failed') failed.add(event.runId)
    show(event)
  }
  const stop = closeOnSignal(runner, io, { tell: !flags.has('quiet') && !json })
  try {
    const recovered = await runner.recover({ ...options, onEvent })
    const runs = recovered.map((one) => recoveredView(one.runId, 'outcome' in one ? one.outcome : { error: runner.mask(one.error), hasFailed: failed.has(one.runId) }))
    io.out.write(json ? jsonText({ runs }) : `${recoveredText(runs, { width: io.out.isTTY ? (io.out.columns ?? 80) : undefined, paint: paintFor(io.out, io.env) })}\n`)
    if (stop.signal !== undefined) return EXIT[stop.signal]
    return runs.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.done
  } catch (error) {
    if (stop.signal !== undefined) return EXIT[stop.signal]
    throw error
  } finally {
    await runner.close().catch(() => {})
    stop.ignore()
  }
}

async function watch(runner: Runner, options: { readonly everyMs?: number }, { flags }: Arguments, io: Io): Promise<number> {
  const json = flags.has('json')
  const paint = paintFor(io.out, io.env)
  const write = (view: RecoveredView): void => io.out.write(json ? jsonLine(view) : `${recoveredLine(view, clockText(io.now()), paint)}\n`)
  const failed = new Set<string>()
  let lastTold = ''
  const onEvent = (event: StampedEvent): void => {
    if (event.type === 'run-failed') failed.add(event.runId)
    const outcome = outcomeOf(event)
    if (outcome) write(recoveredView(event.runId, outcome))
  }
  const onError = (error: unknown, runId: string | undefined): void => {
    const masked = runner.mask(error)
    if (runId !== undefined) return write(recoveredView(runId, { error: masked, hasFailed: failed.delete(runId) }))
    // A store that is down is looked at again and again.
    const { message } = describeError(masked)
    if (message === lastTold) return
    lastTold = message
    if (json) io.out.write(jsonLine({ error: describeError(masked) }))
    else reportError(masked, EXIT.store, false, io)
  }
  const stop = closeOnSignal(runner, io, { tell: !flags.has('quiet') && !json })
  try {
    // A store that cannot be used at all is said at once, with its code.
    await runner.list({ limit: 1 })
    runner.start({ ...options, onEvent, onError })
    if (!flags.has('quiet') && !json) io.err.write(`looks for runs to recover since ${timeText(io.now())}; SIGINT or SIGTERM stops it\n`)
    await stop.received
    return EXIT.done
  } catch (error) {
    if (stop.signal !== undefined) return EXIT.done
    throw error
  } finally {
    await runner.close().catch(() => {})
    stop.ignore()
  }
}

/** How a run that is driven has ended; a failure is told otherwise. */
function outcomeOf(event: StampedEvent): Outcome | undefined {
  switch (event.type) {
    case 'run-completed': return { status: 'completed', result: event.result }
    case 'run-suspended': return { status: 'suspended', reasons: event.reasons, ...(event.resumeAt !== null && { resumeAt: event.resumeAt }) }
    case 'run-cancelled': return { status: 'cancelled', reason: oneLine(event.reason) }
    default: return undefined
  }
}
