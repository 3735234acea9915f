/** Errors as a person and a program read them: a code, what happened, what to do; a stack only for who asks for it. */
import { inspect } from 'node:util'
import { HoldfastError, withoutAdvice, type HoldfastErrorCode, type RunUsage } from '../errors.ts'
import { messageOf } from '../run/readable.ts'
import { CLEANED_UP } from '../runner/cleaned-up.ts'
import { DRIVES_AGAIN } from '../runner/failure.ts'
import { CliError } from './cli-error.ts'
import { redoCommand } from './hint.ts'
import type { Io } from './io.ts'
import { jsonText } from './json.ts'
import { oneLine, printableLines } from './printable.ts'
import { paintFor } from './style.ts'

export interface ErrorReport {
  /** A code of Holdfast's or of the command line's own; `UNEXPECTED` for any other error. */
  readonly code: string
  readonly message: string
  readonly advice: string | null
  readonly runId: string | null
  readonly step: string | null
  /** What the run had used when it failed. */
  readonly usage: RunUsage | null
}

/** What follows it is said of that run. */
const drivesAgain = (runId: string | undefined, { advice }: HoldfastError): string | undefined =>
  advice?.startsWith(DRIVES_AGAIN) ? `What was done is kept: holdfast resume ${runId ?? 'ID'} drives it again from there${advice.slice(DRIVES_AGAIN.length)}` : advice

/** Whatever failed the run: it is not driven again by itself. */
function cleanedUp(advice: string | null): string | undefined {
  const at = advice?.indexOf(CLEANED_UP) ?? -1
  return at === -1 ? undefined : advice!.slice(at)
}

/** What to do, in the words of the command line, where the library speaks of its functions. */
const ADVICE: Readonly<Partial<Record<HoldfastErrorCode, (runId: string | undefined, error: HoldfastError) => string | undefined>>> = {
  MISSING_RUN_ID: () => 'Give --id ID, made of what the run is about, such as ticket-123: the same id resumes it',
  UNKNOWN_RUN: () => 'holdfast list shows the runs; holdfast run starts one',
  RUN_FAILED: drivesAgain,
  STEP_FAILED: drivesAgain,
  LIMIT_REACHED: (runId) => `What was done is kept: holdfast resume ${runId ?? 'ID'} goes on under a higher limit, --max-steps N, --max-tokens N or --max-journal-bytes N`,
  RUN_TIMEOUT: (runId) => `What was done is kept: holdfast resume ${runId ?? 'ID'} goes on with more time, --run-ms MS or --deadline TIME`,
  // Of a tool the model is told, and nobody has to do anything.
  OUTCOME_UNKNOWN: (runId, { step, advice }) => (step !== undefined && advice?.includes('{ redo: ') ? `Catch it where the handler asks for the step; to have it otherwise: ${redoCommand(runId ?? 'ID', step)}` : advice),
  RUN_MISMATCH: () => 'Use another id for another run, holdfast resume to go on with the recorded input, or --allow-mismatch if you know that it fits',
}

export function describeError(error: unknown): ErrorReport {
  if (HoldfastError.isInstance(error)) {
    const advice = error.advice ?? null
    return { code: error.code, message: withoutAdvice(error), advice: cleanedUp(advice) ?? ADVICE[error.code]?.(error.runId, error) ?? advice, runId: error.runId ?? null, step: error.step ?? null, usage: error.usage ?? null }
  }
  if (CliError.isInstance(error)) return { code: error.code, message: error.message, advice: error.advice ?? null, runId: null, step: null, usage: null }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error)
  return { code: 'UNEXPECTED', message, advice: 'Set HOLDFAST_DEBUG=1 to see where it comes from', runId: null, step: null, usage: null }
}

/** Two lines on standard error; with `json` one document on standard output, in the place of the answer. */
export function reportError(error: unknown, exitCode: number, json: boolean, io: Io): void {
  const report = describeError(error)
  if (json) io.out.write(jsonText({ error: report, exitCode }))
  else {
    const paint = paintFor(io.err, io.env)
    io.err.write(`${paint('red', `holdfast: ${report.code}:`)} ${oneLine(report.message)}\n`)
    if (report.advice !== null) io.err.write(`  ${oneLine(report.advice)}\n`)
  }
  if (io.env['HOLDFAST_DEBUG']) io.err.write(`${printableLines(inspect(error))}\n`)
}
