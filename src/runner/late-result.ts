/** A result that comes when its attempt is over goes to the run's inbox: whoever drives the run next finds it (R6). */
import { HoldfastError } from '../errors.ts'
import { writeMessage, type Message } from '../journal/message.ts'
import { readJournal } from '../journal/read.ts'
import { isStopped } from '../journal/resume-at.ts'
import type { Store } from '../journal/store.ts'
import type { NewEntry } from '../journal/writer.ts'
import { classifyError, DEFAULT_RETRY, execute, type ResolvedRetry } from '../reliability/index.ts'
import type { Attempt } from '../run/attempt.ts'
import { ofStep } from '../run/step.ts'
import type { ResolvedOptions } from './options.ts'

/** A store that refuses a late result is asked again, whatever it says: nobody else knows of it. */
const LATE_RETRY: ResolvedRetry = { ...DEFAULT_RETRY, onLongWait: 'fail', classify: (error, context) => ({ ...classifyError(error, context), retryable: true }) }

/** Resolves when it has been sent, or cannot be. */
export async function sendLate(store: Store, { clock, random, secrets }: ResolvedOptions, attempt: Attempt, message: Message): Promise<void> {
  const { runId } = attempt
  const body = writeMessage(runId, message, secrets)
  const send = async (): Promise<unknown> => store.send(runId, { question: null, body, wakes: await wakes(store, attempt), now: clock.now() })
  await execute(send, { retry: LATE_RETRY, signal: new AbortController().signal, clock, random, label: 'a late result' })
}

/** Of what was taken in, that some of it has settled a doubt. */
export function tellSettled(attempt: Attempt, taken: readonly NewEntry[]): void {
  for (const entry of taken) {
    if (entry.type !== 'settled' || entry.by !== 'late-result') continue
    const { step } = attempt.history.ledger.effects.get(entry.step)!
    attempt.emit({ type: 'doubt-settled', ...ofStep(step), by: entry.by, as: entry.settlement.type })
  }
}

/** A run that its caller has stopped goes on when somebody wants it to: the attempt itself, or the one that has driven it since. */
async function wakes(store: Store, { runId, isCancelled, options: { lease } }: Attempt): Promise<boolean> {
  const row = await store.get(runId)
  if (!row || row.token === lease.token) return !isCancelled
  try {
    return !isStopped((await readJournal(store, row)).entries.map(({ entry }) => entry))
  } catch (error) {
    // Nobody can go on with it as it is.
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return false
    throw error
  }
}
