/** What somebody says about a step of a run that waits: what all of it has, and the run as it is then. */
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { readJournal } from '../journal/read.ts'
import type { Secrets } from '../journal/secrets.ts'
import type { RunRow, Store } from '../journal/store.ts'
import type { Sizes } from './sizes.ts'

/** How something is said to a run. */
export interface Saying {
  /** ms since the epoch. */
  readonly now: number
  readonly secrets?: Secrets | undefined
  /** Position of the newest entry that was known to who says it: nothing is said of what started, or asked, later. Default: the newest there is. */
  readonly asOf?: number | undefined
  /** How large what is given may be. Default: that of a runner that says nothing. */
  readonly sizes?: Sizes | undefined
  /** How the name of a tool is shown to who says it. Default: as it is. */
  readonly shownName?: ((name: string) => string) | undefined
}

/** The id of the step, which may be given by the reason of a suspended run. @throws HoldfastError `INVALID_OPTIONS`. */
export function stepOf(call: string, runId: string, asked: string | { readonly step: string }): string {
  const step = typeof asked === 'string' ? asked : asked?.step
  if (typeof step === 'string') return step
  throw new HoldfastError('INVALID_OPTIONS', `${call} takes the id of a step, or the reason of a suspended run that names one, got ${shown(asked)}`, { runId })
}

/** @throws HoldfastError `UNKNOWN_RUN`; `INVALID_OPTIONS` for an entry that is not there. */
export async function spokenTo(store: Store, runId: string, asOf: number | undefined): Promise<{ readonly row: RunRow; readonly entries: readonly Placed[] }> {
  const row = await store.get(runId)
  if (!row) throw new HoldfastError('UNKNOWN_RUN', `there is no run "${runId}" in this ${store.kind} store`, { runId, advice: 'Look at the list of runs' })
  checkAsOf(row, asOf)
  return { row, entries: (await readJournal(store, row)).entries }
}

function checkAsOf({ runId, lastSeq }: RunRow, asOf: number | undefined): void {
  if (asOf === undefined || (Number.isSafeInteger(asOf) && asOf >= 1 && asOf <= lastSeq)) return
  throw new HoldfastError('INVALID_OPTIONS', `as of entry ${asOf}: the journal of run "${runId}" has entries 1 to ${lastSeq}`, { runId, advice: 'holdfast show prints the commands with the right one' })
}
