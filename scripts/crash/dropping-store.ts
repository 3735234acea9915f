/** A broken store: it acknowledges entries of one type without keeping them. A judge that does not find this finds nothing. */
import { link, START } from '../../src/journal/chain.ts'
import type { Entry, Store } from '../../src/index.ts'
import type { Dropped } from './protocol.ts'

export function droppingStore(store: Store, dropped: Dropped): Store {
  return {
    ...store,
    async append(runId, batch) {
      const kept = await store.read(runId)
      let tip = kept.at(-1) ?? START
      const entries = batch.entries.map(({ body }) => {
        const entry = JSON.parse(body) as Entry
        // Something else stands in its place, so that the numbers and the chain stay whole.
        const isDropped = entry.type === dropped && entry.step.kind !== 'model'
        return (tip = link(tip, isDropped ? { type: 'warning', at: entry.at, code: 'NOT_RECORDED', message: `${entry.type} ${entry.step.id} was dropped` } : entry))
      })
      return store.append(runId, { ...batch, entries })
    },
  }
}
