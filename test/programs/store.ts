/** The store as one process sees it: with latencies, refusals, and an end when the process is killed. */
import { HoldfastError } from '../../src/errors.ts'
import type { RunRow, Store } from '../../src/journal/store.ts'
import { never, type Session } from './session.ts'

export function storeOf(session: Session, store: Store, deadOwners: ReadonlySet<string>): Store {
  let appends = 0

  const call = async <T>(seam: string, perform: () => Promise<T>): Promise<T> => {
    if ((await session.cross(`before ${seam}`)) || session.frozen) return never()
    await session.latency()
    if (session.frozen) return never()
    let result: T
    try {
      result = await perform()
    } catch (error) {
      if ((await session.cross(`after ${seam}`)) || session.frozen) return never()
      throw error
    }
    if ((await session.cross(`after ${seam}`)) || session.frozen) return never()
    await session.latency()
    return session.frozen ? never() : result
  }

  return {
    kind: 'simulated',
    durability: 'durable',
    open: () => store.open(),
    create: (run) => call('create', () => store.create(run)),
    get: (runId) => call('get', async () => {
      const row = await store.get(runId)
      return row && asSeen(row, deadOwners)
    }),
    list: (filter) => call('list', async () => (await store.list(filter)).map((row) => asSeen(row, deadOwners))),
    read: (runId, after) => call('read', () => store.read(runId, after)),
    take: (runId, lease) => call('take', async () => {
      const token = await store.take(runId, { ...lease, owner: JSON.stringify({ ...JSON.parse(lease.owner), id: session.name }) })
      if (token !== null) {
        session.world.owner = session
        session.drove = true
      }
      return token
    }),
    renew: (runId, token, until) => call('renew', () => store.renew(runId, token, until)),
    append: (runId, batch) => call('append', async () => {
      appends++
      if (!session.disturbance.refuse?.includes(appends)) {
        await store.append(runId, batch)
        // Who only finds that it has ended says so in the row alone.
        if (batch.patch?.status === 'completed' && batch.entries.length > 0) session.world.endedBy = session
        return
      }
      session.world.log.push(`${session.name} store refuses append ${appends}`)
      for (const position of session.open.keys()) session.refusedWhileOpen.add(position)
      throw new HoldfastError('STORE_UNAVAILABLE', 'the simulated store takes no writes right now')
    }),
    send: (runId, message) => call('send', () => store.send(runId, message)),
    inbox: (runId, after) => call('inbox', () => store.inbox(runId, after)),
    remove: (runId, now) => call('remove', () => store.remove(runId, now)),
    close: async () => {},
  }
}

/** An owner that is known to be dead has a start time that no process of its pid has. */
function asSeen(row: RunRow, deadOwners: ReadonlySet<string>): RunRow {
  if (row.owner === null) return row
  const owner = JSON.parse(row.owner) as { id: string; started?: string }
  return deadOwners.has(owner.id) ? { ...row, owner: JSON.stringify({ ...owner, started: `${owner.started} before` }) } : row
}
