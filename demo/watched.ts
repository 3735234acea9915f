/** The agent's own points: each write to the journal, before and after, and each request to the model. */
import type { Store } from '../src/index.ts'
import type { Reach } from './points.ts'

/** The store with a point on both sides of every write. */
export function watchedStore(store: Store, reach: Reach): Store {
  const around = async <T>(what: string, write: () => Promise<T>): Promise<T> => {
    await reach(`journal: ${what} is not written yet`)
    const result = await write()
    await reach(`journal: ${what} is written, the agent does not know yet`)
    return result
  }
  return {
    ...store,
    create: (run) => around('the new run', () => store.create(run)),
    take: (runId, lease) => around('the lease', () => store.take(runId, lease)),
    append: (runId, batch) => around(batch.entries.map(({ body }) => nameOf(body)).join(', '), () => store.append(runId, batch)),
  }
}

export const watchedFetch = (reach: Reach): typeof fetch => async (input, init) => {
  await reach('model: a request is about to be sent')
  const response = await fetch(input, init)
  await reach(`model: status ${response.status} is here, its body is not`)
  return response
}

/** `step-started refund`. Entries are JSON text. */
function nameOf(body: string): string {
  const entry = JSON.parse(body) as { type: string; step?: string | { kind: string; name: string } }
  if (typeof entry.step !== 'object') return entry.type
  return `${entry.type} of ${entry.step.kind === 'model' ? 'a model request' : entry.step.name}`
}
