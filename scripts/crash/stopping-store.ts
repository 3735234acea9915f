/** A store in which the process stands still before or after the records of the step under trial. */
import type { Entry, Store } from '../../src/index.ts'
import type { Moment } from './points.ts'
import type { Policy } from './policies.ts'

/** Calls `stopAt` at each moment that has to do with a write, in order; it does not return where the process has to stop. */
export function stoppingStore(store: Store, { target, response }: Policy, stopAt: (moment: Moment) => void): Store {
  const momentsOf = (entry: Entry): readonly [before: Moment, after: Moment] | undefined => {
    if (entry.type === 'step-started' && entry.step.id === target) return ['before-write-ahead', 'after-write-ahead']
    if (entry.type !== 'step-ended') return undefined
    if (entry.step.id === target) return ['before-result', 'after-result']
    return entry.step.id === response ? ['before-response', 'after-response'] : undefined
  }
  return {
    ...store,
    async append(runId, batch) {
      const moments = batch.entries.flatMap(({ body }) => [...(momentsOf(JSON.parse(body) as Entry) ?? [])])
      for (const moment of moments) if (moment.startsWith('before')) stopAt(moment)
      await store.append(runId, batch)
      for (const moment of moments) if (moment.startsWith('after')) stopAt(moment)
    },
  }
}
