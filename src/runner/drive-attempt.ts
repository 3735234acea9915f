/** An attempt from its first drive to its last record: driven again where a stream broke or somebody answered in the meantime. */
import { sleep } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import { byteLength, decode, encode, type Encoded } from '../journal/codec.ts'
import type { SuspendReason } from '../journal/entry.ts'
import type { RunPatch } from '../journal/store.ts'
import type { NewEntry } from '../journal/writer.ts'
import { settleResult } from '../ai-sdk/result.ts'
import type { Attempt } from '../run/attempt.ts'
import type { Blamed } from '../replay/failure.ts'
import { Drive } from '../run/drive.ts'
import { limitReached, type Reached } from '../run/limits.ts'
import { encodedError } from '../run/outcome.ts'
import { messageOf } from '../run/readable.ts'
import { beginningOf } from '../run/reduced.ts'
import { keptReasons } from '../run/wait-reason.ts'
import type { AnyAgent } from './agent.ts'
import { runFailure } from './failure.ts'
import { tellSettled } from './late-result.ts'
import type { OpenAttempt } from './open.ts'
import type { Outcome } from './outcome.ts'
import { runOf } from './run.ts'

/** The latest drive of an attempt, for who has to stop it. */
export interface Current {
  drive?: Drive
}

export async function driveAttempt(opened: OpenAttempt, current: Current): Promise<Outcome> {
  const { attempt, lease } = opened
  attempt.emit(attempt.options.number === 1
    ? { type: 'run-started', attempt: 1 }
    : { type: 'run-resumed', attempt: attempt.options.number, former: attempt.options.former })
  tellSettled(attempt, opened.taken)
  const disarm = attempt.budget.watch(() => current.drive?.machine.replaysLeft ?? 0, (reached) => current.drive?.end({ type: 'limit', reached }))
  /** How the run was left, where it has no result. */
  let reason: unknown
  try {
    for (;;) {
      // Stopped before its handler was called, or between two calls of it.
      if (attempt.signal.aborted) return await stop(opened, attempt.signal.reason)
      current.drive = new Drive(attempt)
      const outcome = await driveOnce(opened, current.drive)
      if (outcome?.status === 'suspended') reason = suspended(attempt, outcome)
      if (outcome) return outcome
    }
  } catch (error) {
    reason = error
    throw error
  } finally {
    disarm()
    attempt.over = true
    lease.stop()
    if (reason !== undefined) current.drive?.leave(reason)
    if (!attempt.signal.aborted) attempt.abort(reason ?? new HoldfastError('RUN_SUSPENDED', `this attempt of run "${attempt.runId}" is over`, { runId: attempt.runId }))
  }
}

/** Undefined: the handler has to be driven again. */
async function driveOnce(opened: OpenAttempt, drive: Drive): Promise<Outcome | undefined> {
  const { attempt, agent, input } = opened
  const end = await drive.run(async () => settleResult(await (agent as AnyAgent & { handler: (run: unknown, input: unknown) => unknown }).handler(runOf(drive), decode(input, 'input'))))
  switch (end.type) {
    case 'returned':
      await drive.settled()
      // Of what an earlier attempt has left, its process may have told since.
      await attempt.options.takeLate()
      warnOfLeft(attempt, drive)
      return complete(opened, end.value)
    case 'threw':
      await settledWithin(drive, opened.drainMs)
      return fail(opened, drive, end.error)
    case 'refused':
      await settledWithin(drive, opened.drainMs)
      return failWith(opened, end.error, [])
    case 'limit':
      tell(attempt, end)
      await settledWithin(drive, opened.drainMs)
      return failWith(opened, limitReached(attempt.runId, end.reached, end), [])
    case 'suspended': {
      await drive.settled()
      const outcome = await suspend(opened, end.reasons, end.resumeAt)
      if (!outcome) drive.leave(drivenAgain(attempt, 'somebody has answered'))
      return outcome
    }
    case 'again':
      await drive.settled()
      drive.leave(drivenAgain(attempt, `the stream of step ${end.step} broke`))
      await sleep(attempt.clock, end.delayMs, attempt.signal).catch(() => {})
      return undefined
    case 'stopped':
      await drive.settled()
      return stop(opened, end.reason)
  }
}

/** How streams end whose run waits. */
const suspended = ({ runId }: Attempt, { reasons }: Outcome & { status: 'suspended' }): HoldfastError =>
  new HoldfastError('RUN_SUSPENDED', `run "${runId}" is suspended: ${reasons.map(({ message }) => message).join('; ')}`, { runId })

/** How streams end whose handler is called anew. */
const drivenAgain = ({ runId }: Attempt, why: string): HoldfastError =>
  new HoldfastError('STREAM_RESET', `run "${runId}": ${why}, what was shown of this stream is void`, { runId, advice: 'The handler is driven again: read the stream that it hands out then' })

const tell = (attempt: Attempt, { reached, step }: { readonly reached: Reached; readonly step?: string }): void =>
  attempt.emit({ type: 'limit-reached', ...reached, ...(step !== undefined && { step }) })

/** What runs beside a failure may end and is kept; what hangs does not keep the failure from its caller. */
async function settledWithin(drive: Drive, drainMs: number): Promise<void> {
  const { attempt } = drive
  const over = new AbortController()
  const inTime = await Promise.race([drive.settled().then(() => true), sleep(attempt.clock, drainMs, over.signal).then(() => false, () => true)])
  over.abort()
  if (!inTime) attempt.abort(new HoldfastError('RUN_FAILED', `run "${attempt.runId}" has failed`, { runId: attempt.runId }))
}

/** The last commit of an attempt: what became of it, its summary, and the lease given back, all or nothing. */
async function close({ attempt, writer, inbox, lease }: OpenAttempt, entries: readonly NewEntry[], patch: RunPatch, watchInbox = false): Promise<void> {
  // What is on its way to the journal belongs to the summary.
  await writer.settled()
  const { summary } = attempt
  const ended: NewEntry = { type: 'attempt-ended', attempt: attempt.options.number, summary }
  try {
    await writer.write([...entries, ended], { patch: { ...patch, release: true }, ...(watchInbox && { inboxSeq: inbox.seq }) })
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== 'INBOX_MOVED') await lease.release()
    throw error
  }
  attempt.emit({ type: 'attempt-ended', attempt: attempt.options.number, summary })
}

/** It has come to its end another way than before: what was done on the way, nobody may know. */
function warnOfLeft(attempt: Attempt, { machine }: Drive): void {
  const left = machine.leftBehind().map(({ step, state }) => `${step.kind} "${step.name}" (${step.id}), ${state === 'completed' ? 'which was done' : 'of which nobody knows whether it took effect'}`)
  if (left.length > 0) attempt.warn('EFFECTS_LEFT', `the run ended without what it had started before: ${left.join('; ')}`)
}

async function complete(opened: OpenAttempt, value: unknown): Promise<Outcome> {
  const { attempt } = opened
  let result
  try {
    result = encode(value, { path: 'result', maxBytes: attempt.policies.maxStepBytes, option: 'maxStepBytes', secrets: attempt.secrets })
  } catch (error) {
    return failWith(opened, error, [])
  }
  await close(opened, [{ type: 'run-ended', status: 'completed', result }], { status: 'completed', resumeAt: null })
  const decoded = decode(result, 'result')
  attempt.emit({ type: 'run-completed', result: decoded })
  return { status: 'completed', result: decoded }
}

/** Where the run's time is over, that is what ended it, whatever its handler made of it. */
async function fail(opened: OpenAttempt, drive: Drive, error: unknown): Promise<never> {
  const { attempt } = opened
  const reached = attempt.budget.over
  if (reached) tell(attempt, { reached })
  const { known, escaped } = drive.blame.of(error)
  const { failures, cleanUp, left } = drive.machine.blamed({ known, escaped })
  const superseded = failures.map((failure): NewEntry => (
    { type: 'superseded', by: 'failure', reason: known.includes(failure.step) ? 'the run failed with its error' : 'it had failed when the run did', ...failure }))
  if (reached) return failWith(opened, limitReached(attempt.runId, reached, { cause: error }), superseded, { cleanUp })
  return failWith(opened, error, superseded, { cleanUp, left })
}

async function failWith(opened: OpenAttempt, error: unknown, superseded: NewEntry[], { cleanUp = [], left }: Partial<Pick<Blamed, 'cleanUp' | 'left'>> = {}): Promise<never> {
  const { attempt } = opened
  const { runId } = attempt
  await close(opened, [...superseded, { type: 'run-ended', status: 'failed', error: storable(attempt, error), ...(cleanUp.length > 0 && { cleanUp: cleanUp.map(({ id }) => id) }) }], { status: 'failed', resumeAt: null })
  const failure = runFailure(error, runId, attempt.budget.usage, { left, cleanUp })
  attempt.emit({ type: 'run-failed', error })
  throw failure
}

/** Undefined: somebody has answered in the meantime, so the handler is driven again. */
async function suspend(opened: OpenAttempt, reasons: readonly SuspendReason[], resumeAt: number | null): Promise<Outcome | undefined> {
  const { attempt, inbox, lease } = opened
  try {
    await close(opened, [{ type: 'suspended', reasons: keptReasons(attempt, reasons), resumeAt }], { status: 'suspended', resumeAt }, true)
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== 'INBOX_MOVED') throw error
    try {
      tellSettled(attempt, await inbox.take())
    } catch (failure) {
      await lease.release()
      throw failure
    }
    return undefined
  }
  attempt.emit({ type: 'run-suspended', reasons, resumeAt })
  return { status: 'suspended', reasons, ...(resumeAt !== null && { resumeAt }) }
}

/** The attempt was stopped from outside. What was done is kept, the run can be resumed. */
async function stop(opened: OpenAttempt, reason: unknown): Promise<Outcome> {
  const { attempt } = opened
  if (HoldfastError.isInstance(reason) && reason.code === 'LEASE_LOST') throw reason
  const closing = HoldfastError.isInstance(reason) && reason.code === 'RUNNER_CLOSED'
  const why: SuspendReason = closing
    ? { type: 'draining', message: messageOf(reason) }
    : { type: 'aborted', message: attempt.told(`the attempt was stopped: ${messageOf(reason)}`) }
  // Another runner may go on at once; what its caller stopped goes on when somebody wants it to.
  const resumeAt = closing ? attempt.clock.now() : null
  await close(opened, [{ type: 'suspended', reasons: [why], resumeAt }], { status: 'suspended', resumeAt })
  attempt.emit({ type: 'run-suspended', reasons: [why], resumeAt })
  if (resumeAt !== null) return { status: 'suspended', reasons: [why], resumeAt }
  throw reason
}

/** Of one that is too large, as of that of a step, what a step would keep of it. */
function storable({ policies, secrets }: Attempt, error: unknown): Encoded {
  const encoded = encodedError(error)
  return byteLength(encoded, secrets) <= policies.maxStepBytes ? encoded : beginningOf(encoded, secrets)
}
