/** The status of a run by its journal, which is right where its row says otherwise (docs/format.md). */
import type { Placed } from '../../journal/chain.ts'
import type { RunRow, RunStatus } from '../../journal/store.ts'

/** What a row says besides its journal (`stalled`; `running`, after its lease was taken and before anything was written) stands. */
export function statusOf({ status }: RunRow, entries: readonly Placed[]): RunStatus {
  const last = entries.findLast(({ entry: { type } }) => type === 'run-ended' || type === 'attempt-started' || type === 'suspended')?.entry
  // Where it was cut, nobody drives it until somebody wants it to.
  const waits = last?.type === 'suspended' || entries.at(-1)?.entry.type === 'salvaged'
  const ended = last?.type === 'run-ended' ? last.status : undefined
  if (ended === 'completed' || ended === 'cancelled') return ended
  const isOwn = status === 'running' || status === 'stalled' || status === ended || (status === 'suspended' && waits)
  return isOwn ? status : (ended ?? (waits ? 'suspended' : 'running'))
}
