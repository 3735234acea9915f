import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import { HoldfastError } from '../errors.ts'
import { memoryStore } from '../stores/memory.ts'
import { START, link, unlink } from './chain.ts'
import { FORMAT, type Entry } from './entry.ts'
import type { AppendBatch, Store } from './store.ts'
import { Writer, type NewEntry } from './writer.ts'

const entry = (digest: string): NewEntry => ({ type: 'config', digest, parts: {} })
const nameOf = (entry: Entry): string => (entry.type === 'config' ? entry.digest : entry.type)

interface Desk {
  readonly store: Store
  readonly clock: ReturnType<typeof manualClock>
  readonly writer: Writer
  /** What each append was asked to write; those that the store refused have a `!`. */
  readonly appends: string[]
  /** What happened, in order. */
  readonly events: string[]
  journal(): Promise<string[]>
}

/** A run with one entry, and its writer on a store that does what `before` says first. */
async function desk(before: (batch: AppendBatch, names: string) => void | Promise<void> = () => {}): Promise<Desk> {
  const store = memoryStore()
  const clock = manualClock(1_000)
  const first = link(START, { type: 'run-created', at: 0, format: FORMAT, runId: 'r1', agent: 'desk', version: '1', input: { json: null } })
  await store.create({ runId: 'r1', agent: 'desk', threadId: null, createdAt: 0, entries: [first] })
  const token = (await store.take('r1', { expectedToken: 0, owner: '{}', leaseUntil: 9_999, now: 0 }))!
  const appends: string[] = []
  const events: string[] = []
  const namesOf = (batch: AppendBatch): string => batch.entries.map(({ body }) => nameOf(JSON.parse(body) as Entry)).join(' ')
  const watched: Store = {
    ...store,
    async append(runId, batch) {
      const names = namesOf(batch)
      try {
        await before(batch, names)
        await store.append(runId, batch)
        appends.push(names)
      } catch (error) {
        appends.push(`${names}!`)
        throw error
      }
    },
  }
  const writer = new Writer({ store: watched, runId: 'r1', token, tip: first, clock, onAppended: (entry, seq) => events.push(`${seq} ${nameOf(entry)} @${entry.at}`) })
  return { store, clock, writer, appends, events, journal: async () => unlink('r1', await store.read('r1')).entries.map(({ entry }) => nameOf(entry)) }
}

const refusal = (message = 'disk full'): HoldfastError => new HoldfastError('STORE_UNAVAILABLE', message)
const refusing = (name: string) => (_: AppendBatch, names: string): void => {
  if (names.split(' ').includes(name)) throw refusal()
}
const codes = (settled: PromiseSettledResult<number>[]): unknown[] => settled.map((s) => (s.status === 'fulfilled' ? s.value : (s.reason as HoldfastError).code))

describe('Writer', () => {
  it('lets what is written in one turn share an append, in order, and tells each write its place', async () => {
    const { writer, appends, journal } = await desk()
    const writes = [writer.write([entry('a'), entry('b')]), Promise.resolve().then(() => writer.write([entry('c')])), writer.write([entry('d')])]
    expect(await Promise.all(writes)).toEqual([3, 5, 4])
    expect(appends).toEqual(['a b d c'])
    expect(await journal()).toEqual(['run-created', 'a', 'b', 'd', 'c'])
  })

  it('lets what is written during an append share the next one', async () => {
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const { writer, appends } = await desk((_, names) => {
      reached.resolve()
      return names === 'a' ? gate.promise : undefined
    })
    const first = writer.write([entry('a')])
    await reached.promise
    const others = [writer.write([entry('b')]), writer.write([entry('c')])]
    gate.resolve()
    expect(await Promise.all([first, ...others])).toEqual([2, 3, 4])
    expect(appends).toEqual(['a', 'b c'])
  })

  it('starts anew after it was quiet', async () => {
    const { writer, appends } = await desk()
    await writer.write([entry('a')])
    expect(await writer.write([entry('b')])).toBe(3)
    expect(appends).toEqual(['a', 'b'])
  })

  it('tells of each entry once it is durable, in order, before its write resolves, with the time of the append', async () => {
    const { writer, events, clock, store } = await desk()
    await clock.advance(50)
    await Promise.all(['a', 'b'].map(async (name) => events.push(`write ${await writer.write([entry(name)])}`)))
    expect(events).toEqual(['2 a @1050', '3 b @1050', 'write 2', 'write 3'])
    expect((await store.get('r1'))!.updatedAt).toBe(1_050)
  })

  it('tells of nothing that the store refused', async () => {
    const { writer, events } = await desk(refusing('a'))
    await expect(writer.write([entry('a')])).rejects.toThrow('disk full')
    expect(events).toEqual([])
  })

  it('tries each write by itself where the group was refused: one bad record does not take the others', async () => {
    const { writer, appends, journal, events } = await desk(refusing('bad'))
    const writes = await Promise.allSettled([writer.write([entry('a')]), writer.write([entry('b'), entry('bad')]), writer.write([entry('c')])])
    expect(codes(writes)).toEqual([2, 'STORE_UNAVAILABLE', 3])
    expect(appends).toEqual(['a b bad c!', 'a', 'b bad!', 'c'])
    expect(await journal()).toEqual(['run-created', 'a', 'c'])
    expect(events).toEqual(['2 a @1000', '3 c @1000'])
  })

  it('rejects alone what is no JSON, and goes on', async () => {
    const { writer, journal } = await desk()
    const bad = { ...entry('bad'), parts: { size: 1n } } as unknown as NewEntry
    const writes = await Promise.allSettled([writer.write([bad]), writer.write([entry('a')])])
    expect(writes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    await writer.write([entry('b')])
    expect(await journal()).toEqual(['run-created', 'a', 'b'])
  })

  it('measures the last entry of a write: what it uses up is not its own', async () => {
    const { writer, journal } = await desk()
    const size = { maxBytes: 200, what: 'the record of "b"' }
    const writes = await Promise.allSettled([writer.write([entry('a'.repeat(300)), entry('b')], { size }), writer.write([entry('c'), entry('d'.repeat(300))], { size })])
    expect(codes(writes)).toEqual([3, 'VALUE_TOO_LARGE'])
    expect(writes[1]).toMatchObject({ reason: { message: expect.stringMatching(/^the record of "b" takes 3\d\d bytes as JSON, the limit is 200/) } })
    expect((await journal()).map((name) => name.slice(0, 5))).toEqual(['run-c', 'aaaaa', 'b'])
  })

  it('leaves no gap after a failure, however long it lasts', async () => {
    let down = true
    const { writer, journal } = await desk(() => {
      if (down) throw refusal()
    })
    for (const name of ['a', 'b']) await expect(writer.write([entry(name)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    down = false
    expect(await writer.write([entry('c')])).toBe(2)
    expect(await journal()).toEqual(['run-created', 'c'])
  })

  it('rejects with LEASE_LOST once another owner has taken over, and all later writes without asking the store', async () => {
    const { writer, store, appends } = await desk()
    await store.take('r1', { expectedToken: 1, owner: '{}', leaseUntil: 9_999, now: 0 })
    const writes = await Promise.allSettled([writer.write([entry('a')]), writer.write([entry('b')], { patch: { release: true } }), writer.write([entry('c')])])
    expect(codes(writes)).toEqual(['LEASE_LOST', 'LEASE_LOST', 'LEASE_LOST'])
    await expect(writer.write([entry('d')])).rejects.toMatchObject({ code: 'LEASE_LOST', runId: 'r1', cause: { code: 'STALE_TOKEN' } })
    expect(appends).toEqual(['a!'])
    expect((await store.get('r1'))!.owner).not.toBeNull()
  })

  it('gives up the run when an append that "failed" was made all the same: nothing is written twice or over it', async () => {
    const { store, clock } = await desk()
    const [row] = await store.read('r1')
    let cut = true
    const cutOff: Store = {
      ...store,
      async append(runId, batch) {
        await store.append(runId, batch)
        if (cut) throw refusal('connection reset')
      },
    }
    const writer = new Writer({ store: cutOff, runId: 'r1', token: 1, tip: row!, clock, onAppended: () => {} })
    await expect(writer.write([entry('a')])).rejects.toThrow('connection reset')
    cut = false
    await expect(writer.write([entry('b')])).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(unlink('r1', await store.read('r1')).entries.map(({ entry }) => nameOf(entry))).toEqual(['run-created', 'a'])
  })

  it('lets what changes the row or depends on the inbox stand alone, in its place', async () => {
    const { writer, appends, store } = await desk()
    await Promise.all([
      writer.write([entry('a')]),
      writer.write([entry('b')], { patch: { status: 'suspended', resumeAt: 7 } }),
      writer.write([entry('c')]),
      writer.write([entry('d')], { inboxSeq: 0 }),
    ])
    expect(appends).toEqual(['a', 'b', 'c', 'd'])
    expect(await store.get('r1')).toMatchObject({ status: 'suspended', resumeAt: 7, lastSeq: 5 })
  })

  it('gives the lease back with the last write, also without an entry', async () => {
    const { writer, store } = await desk()
    expect(await writer.write([], { patch: { release: true } })).toBe(1)
    expect(await store.get('r1')).toMatchObject({ owner: null, leaseUntil: 0, token: 1 })
  })

  it('fails with INBOX_MOVED for the write that had to see the newest message, and for that one alone', async () => {
    const { writer, store, journal } = await desk()
    await store.send('r1', { question: null, body: '{}', now: 1 })
    const writes = await Promise.allSettled([writer.write([entry('a')], { inboxSeq: 0, patch: { status: 'suspended' } }), writer.write([entry('b')], { inboxSeq: 1 })])
    expect(codes(writes)).toEqual(['INBOX_MOVED', 2])
    expect(await journal()).toEqual(['run-created', 'b'])
    expect((await store.get('r1'))!.status).toBe('running')
  })

  it('puts what has to come first before the next write, also what is said so while another one is on its way', async () => {
    const { writer, appends } = await desk((_, names) => {
      if (names === 'first a') writer.prepend(entry('second'))
    })
    writer.prepend(entry('first'))
    await writer.write([entry('a')])
    await writer.write([entry('b')])
    expect(appends).toEqual(['first a', 'second b'])
  })

  it('keeps what has to come first when the write that it came with is refused', async () => {
    const { writer, journal } = await desk(refusing('a'))
    writer.prepend(entry('first'))
    await writer.write([entry('a')]).catch(() => {})
    await writer.write([entry('b')])
    expect(await journal()).toEqual(['run-created', 'first', 'b'])
  })
})
