/** A store in which the process dies at a chosen write: before it, while it is on its way, or when it is durable. */
import type { Store } from '../../src/index.ts'
import type { Job, Kill } from './protocol.ts'

export interface KillingOptions {
  readonly kill: Kill | undefined
  readonly atEnd: Job['atEnd']
  /** Does not return. */
  readonly die: (where: string) => void
}

export function killingStore(store: Store, { kill, atEnd, die }: KillingOptions): Store {
  let writes = 0
  const whenAt = (number: number, completes: boolean): 'before' | 'during' | 'after' | undefined => {
    if (completes && atEnd !== 'live') return atEnd === 'die-before' ? 'before' : 'after'
    return kill?.by === 'write' && kill.write === number ? kill.when : undefined
  }
  const write = async <T>(what: string, completes: boolean, work: () => Promise<T>): Promise<T> => {
    const number = ++writes
    const when = whenAt(number, completes)
    const where = `${when} write ${number} (${what})`
    if (when === 'before') die(where)
    if (when === 'during') {
      void work().catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
      die(where)
    }
    const result = await work()
    if (when === 'after') die(where)
    return result
  }
  return {
    ...store,
    create: (run) => write('create', false, () => store.create(run)),
    take: (runId, lease) => write('take', false, () => store.take(runId, lease)),
    append: (runId, batch) => {
      const types = batch.entries.map(({ body }) => (JSON.parse(body) as { type: string }).type)
      return write(types.join(', '), batch.patch?.status === 'completed', () => store.append(runId, batch))
    },
  }
}
