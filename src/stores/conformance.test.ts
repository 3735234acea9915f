/** Proves that the suite can fail: a store broken in one way after the other, each caught by the rule that it breaks. */
import { AssertionError } from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import type { AppendBatch, RunRow, Store, StoredEntry } from '../journal/store.ts'
import type { StoreFixture } from './conformance.ts'
import { storeConformance } from './conformance.ts'
import { memoryStore } from './memory.ts'

interface BrokenStore {
  /** What the store does wrong. */
  readonly how: string
  readonly fixture: () => Promise<StoreFixture>
  /** The rules that must catch it. */
  readonly caught: readonly string[]
}

/** A memory store with some methods replaced; the replacements reach the sound one as `kept`. */
function broken(how: string, breakIt: (kept: Store) => Partial<Store>, ...caught: string[]): BrokenStore {
  return {
    how,
    caught,
    async fixture() {
      const kept = memoryStore()
      return { store: { ...kept, ...breakIt(kept) } }
    },
  }
}

const elsewhere = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const withToken = async (kept: Store, runId: string, batch: AppendBatch): Promise<AppendBatch> =>
  ({ ...batch, token: (await kept.get(runId))?.token ?? 0 })
const renumbered = async (kept: Store, runId: string, batch: AppendBatch): Promise<AppendBatch> => {
  const last = (await kept.get(runId))?.lastSeq ?? 0
  return { ...batch, entries: batch.entries.map((entry, index) => ({ ...entry, seq: last + 1 + index })) }
}
const onRows = (kept: Store, change: (row: RunRow) => RunRow): Partial<Store> => ({
  get: async (runId) => {
    const row = await kept.get(runId)
    return row && change(row)
  },
  list: async (filter) => (await kept.list(filter)).map(change),
})
const oneByOne = (kept: Store): Store['append'] => async (runId, { entries, patch, ...batch }) => {
  for (const entry of entries) {
    await kept.append(runId, { ...batch, entries: [entry] })
    await elsewhere()
  }
  if (patch) await kept.append(runId, { ...batch, entries: [], patch })
}

const BROKEN: readonly BrokenStore[] = [
  // lifecycle
  broken('has no kind', () => ({ kind: '' }), 'MUST say what kind it is and how long its data lasts'),
  broken('starts empty whenever it is opened', () => {
    let kept = memoryStore()
    const fresh = memoryStore
    return { open: async () => void (kept = fresh()), create: (run) => kept.create(run), read: (...given) => kept.read(...given) }
  }, 'MUST be opened twice without harm'),
  broken('throws at a second close', () => {
    let closed = false
    return {
      async close() {
        if (closed) throw new Error('not open')
        closed = true
      },
    }
  }, 'MUST be closed twice without harm'),
  broken('goes on after close', () => ({ close: async () => undefined }), 'MUST refuse every call after close with STORE_UNAVAILABLE'),
  broken('drops what waits when it is closed', (kept) => ({
    append: async (runId, batch) => elsewhere().then(() => kept.append(runId, batch)),
  }), 'MUST finish what was asked for before close'),
  {
    how: 'keeps its data to itself',
    caught: ['MUST show another store on the same data all that was acknowledged'],
    fixture: async () => ({ store: memoryStore(), another: async () => memoryStore() }),
  },

  // create and get
  broken('stores only the first entry of a new run', (kept) => ({
    create: (run) => kept.create({ ...run, entries: run.entries.slice(0, 1) }),
  }), 'MUST create a run that is running, without a lease, with its first entries'),
  broken('takes a run without entries for none', (kept) => ({ create: async (run) => run.entries.length > 0 && kept.create(run) }),
    'MUST create a run without entries'),
  broken('overwrites a run that exists', (kept) => ({
    create: async (run) => {
      await kept.remove(run.runId, Infinity)
      return kept.create(run)
    },
  }), 'MUST resolve create to false, and change nothing, when the id exists'),
  broken('looks whether a run exists, and creates it later', (kept) => ({
    async create(run) {
      if (await kept.get(run.runId)) return false
      await elsewhere()
      await kept.remove(run.runId, Infinity)
      return kept.create(run)
    },
  }), 'MUST let one of several concurrent creates of an id win'),
  broken('finds any run', (kept) => ({ get: async (runId) => await kept.get(runId) ?? (await kept.list())[0] }),
    'MUST resolve get to undefined for a run that does not exist'),
  broken('hands out what it keeps', (kept) => {
    const journals = new Map<string, StoredEntry[]>()
    return {
      async read(runId) {
        if (!journals.has(runId)) journals.set(runId, await kept.read(runId))
        return journals.get(runId)!
      },
    }
  }, 'MUST keep what it was given and what it gives apart from what it keeps'),

  // list
  broken('lists from an index that lags behind', (kept) => ({
    list: async (filter) => (await kept.list(filter)).map((row) => ({ ...row, status: 'running' })),
  }), 'MUST list the rows that get gives'),
  broken('lists the oldest first', (kept) => ({
    list: async (filter) => (await kept.list(filter)).reverse(),
  }), 'MUST list the newest updatedAt first'),
  broken('sorts ids by the rules of a language', (kept) => ({
    list: async (filter) => (await kept.list(filter)).sort((a, b) => a.runId.localeCompare(b.runId, 'en', { numeric: true })),
  }), 'MUST list runs of one updatedAt by runId in the order of its characters'),
  broken('takes an empty status list for all', (kept) => ({
    list: ({ status, ...filter } = {}) => kept.list(status?.length ? { ...filter, status } : filter),
  }), 'MUST list by agent, status and threadId, and by all of them together'),
  broken('limits before it filters', (kept) => ({
    list: async ({ limit, ...filter } = {}) => {
      const newest = new Set((await kept.list(limit === undefined ? {} : { limit })).map((row) => row.runId))
      return (await kept.list(filter)).filter((row) => newest.has(row.runId))
    },
  }), 'MUST list at most limit runs, the newest of those that match'),
  broken('lists as due what waits for somebody', (kept) => ({
    list: async ({ dueBy, ...filter } = {}) => (await kept.list(filter)).filter((row) => dueBy === undefined || (row.status === 'suspended' && (row.resumeAt ?? 0) <= dueBy)),
  }), 'MUST list by dueBy the suspended runs whose resumeAt is not later'),
  broken('has no limit by default', (kept) => ({ list: (filter) => kept.list({ limit: Infinity, ...filter }) }),
    'MUST list 100 runs unless limit says otherwise, and all of them for Infinity'),

  // read
  broken('sorts numbers as text', (kept) => ({
    read: async (...given) => (await kept.read(...given)).sort((a, b) => (`${a.seq}` < `${b.seq}` ? -1 : 1)),
    inbox: async (...given) => (await kept.inbox(...given)).sort((a, b) => (`${a.seq}` < `${b.seq}` ? -1 : 1)),
  }), 'MUST read all entries in order', 'MUST number messages from 1 and give them in order, those after a seq only'),
  broken('reads from seq on, not after it', (kept) => ({ read: (runId, after = 0) => kept.read(runId, Math.max(0, after - 1)) }),
    'MUST read only the entries after the given seq'),
  broken('throws when a run is not there to be read', (kept) => ({
    async read(runId) {
      if (!await kept.get(runId)) throw new HoldfastError('UNKNOWN_RUN', 'no such run')
      return kept.read(runId)
    },
  }), 'MUST read nothing of a run that does not exist'),

  // lease
  broken('notes no owner', (kept) => ({ take: (runId, lease) => kept.take(runId, { ...lease, owner: '' }) }),
    'MUST raise the token by one when a lease is taken, and note the owner and the end'),
  broken('leaves the status when a lease is taken', (kept) => ({
    async take(runId, lease) {
      const status = (await kept.get(runId))?.status
      const token = await kept.take(runId, lease)
      if (token !== null && status) await kept.append(runId, { token, entries: [], patch: { status }, now: lease.now })
      return token
    },
  }), 'MUST set status to running and resumeAt to null when a lease is taken'),
  broken('gives a lease to whoever asks', (kept) => ({
    take: async (runId, lease) => kept.take(runId, { ...lease, expectedToken: (await kept.get(runId))?.token ?? 0 }),
  }), 'MUST resolve take to null, and change nothing, when the token has moved'),
  broken('looks at the token, and takes the lease later', (kept) => ({
    async take(runId, lease) {
      const seen = await kept.get(runId)
      if (seen?.token !== lease.expectedToken) return null
      await elsewhere()
      return kept.take(runId, { ...lease, expectedToken: (await kept.get(runId))!.token })
    },
  }), 'MUST let exactly one of several concurrent takers win'),
  broken('says that it has renewed', () => ({ renew: async () => true }), 'MUST move the end of the lease on renew, and nothing else',
    'MUST resolve renew to false, and change nothing, when the token is stale',
    'MUST resolve renew to false, and change nothing, when the lease was given back'),
  broken('renews whatever the token', (kept) => ({
    renew: async (runId, _, end) => kept.renew(runId, (await kept.get(runId))?.token ?? 0, end),
  }), 'MUST resolve renew to false, and change nothing, when the token is stale'),
  broken('makes the run that is to be leased', (kept) => ({
    async take(runId, lease) {
      await kept.create({ runId, agent: '', threadId: null, createdAt: lease.now, entries: [] })
      return kept.take(runId, lease)
    },
  }), 'MUST NOT lease a run that does not exist'),

  // append
  broken('drops the last of several entries', (kept) => ({
    append: (runId, { entries, ...batch }) => kept.append(runId, { ...batch, entries: entries.length > 1 ? entries.slice(0, -1) : entries }),
  }), 'MUST append entries after the newest and note them in the row'),
  broken('keeps 500 entries of a batch', (kept) => ({
    append: (runId, batch) => kept.append(runId, { ...batch, entries: batch.entries.slice(0, 500) }),
  }), 'MUST keep every entry of a large batch'),
  broken('takes resumeAt null for not given', (kept) => ({
    append(runId, { patch, ...batch }) {
      const { resumeAt, ...rest } = patch ?? {}
      return kept.append(runId, { ...batch, patch: resumeAt ? { ...rest, resumeAt } : rest })
    },
  }), 'MUST apply status and resumeAt of a patch with the entries, and leave what the patch does not name'),
  broken('keeps the lease that is given back', (kept) => ({
    append(runId, { patch, ...batch }) {
      const { release: _, ...rest } = patch ?? {}
      return kept.append(runId, { ...batch, patch: rest })
    },
  }), 'MUST give the lease back on release and keep the token', 'MUST remove a run whose lease has ended or was given back'),
  broken('does nothing when there are no entries', (kept) => ({
    append: async (runId, batch) => (batch.entries.length > 0 ? kept.append(runId, batch) : undefined),
  }), 'MUST apply a patch without entries', 'MUST refuse a patch without entries that carries a stale token'),
  broken('refuses every append once there is a message', (kept) => ({
    append: (runId, batch) => kept.append(runId, { ...batch, inboxSeq: 0 }),
  }), 'MUST append when the inbox is where the appender saw it'),
  broken('appends one entry after the other', (kept) => ({ append: oneByOne(kept) }),
    'MUST never show a part of an append', 'MUST store nothing of a batch whose last entry does not fit'),
  broken('writes the patch in a transaction of its own, first', (kept) => ({
    async append(runId, { patch, ...batch }) {
      if (patch) await kept.append(runId, { token: batch.token, entries: [], patch, now: batch.now })
      await kept.append(runId, batch)
    },
  }), 'MUST refuse entries that do not follow the newest with STALE_TOKEN, and change nothing',
  'MUST refuse an append with INBOX_MOVED when the inbox has moved, and change nothing'),

  // append, refused
  broken('ignores the token of an append', (kept) => ({
    append: async (runId, batch) => kept.append(runId, await withToken(kept, runId, batch)),
  }), 'MUST refuse an append with a stale token with STALE_TOKEN, and change nothing',
    'MUST refuse a patch without entries that carries a stale token'),
  broken('numbers entries itself', (kept) => ({ append: async (runId, batch) => kept.append(runId, await renumbered(kept, runId, batch)) }),
    'MUST refuse entries that do not follow the newest with STALE_TOKEN, and change nothing'),
  broken('numbers entries again when another was faster', (kept) => ({
    append: async (runId, batch) => kept.append(runId, batch).catch(async () => kept.append(runId, await renumbered(kept, runId, batch))),
  }), 'MUST let one of two concurrent appends of the same entries win'),
  broken('ignores that the inbox has moved', (kept) => ({
    append: (runId, { token, entries, patch = {}, now }) => kept.append(runId, { token, entries, patch, now }),
  }), 'MUST refuse an append with INBOX_MOVED when the inbox has moved, and change nothing'),
  broken('looks at the inbox before the token', (kept) => ({
    append: async (runId, batch) => kept.append(runId, batch.inboxSeq === undefined ? batch : await withToken(kept, runId, batch)),
  }), 'MUST refuse with STALE_TOKEN an append whose token is stale and whose inbox has moved'),
  broken('makes the run that is appended to', (kept) => ({
    async append(runId, batch) {
      await kept.create({ runId, agent: '', threadId: null, createdAt: batch.now, entries: [] })
      await kept.append(runId, batch)
    },
  }), 'MUST refuse an append to a run that does not exist with STALE_TOKEN'),

  // inbox
  broken('numbers a message before it stores it', (kept) => ({
    async send(runId, message) {
      const seq = (await kept.get(runId))!.inboxSeq + 1
      await elsewhere()
      await kept.send(runId, message)
      return seq
    },
  }), 'MUST take concurrent messages one after the other'),
  broken('answers a question twice', (kept) => ({ send: (runId, message) => kept.send(runId, { ...message, question: null }) }),
    'MUST take one message for a question, and change nothing at the second', 'MUST take exactly one of several concurrent answers to a question'),
  broken('looks whether a question was answered, and stores the answer later', (kept) => {
    const answered = new Set<string>()
    return {
      async send(runId, { question, ...message }) {
        if (question !== null && answered.has(question)) return null
        await elsewhere()
        if (question !== null) answered.add(question)
        return kept.send(runId, { ...message, question: null })
      },
    }
  }, 'MUST take exactly one of several concurrent answers to a question'),
  broken('takes no question for one question', (kept) => ({
    send: (runId, message) => kept.send(runId, { ...message, question: message.question ?? '' }),
  }), 'MUST take any number of messages without a question'),
  broken('keeps one list of questions for all runs', (kept) => {
    const answered = new Set<string>()
    return {
      async send(runId, message) {
        if (message.question !== null && answered.has(message.question)) return null
        if (message.question !== null) answered.add(message.question)
        return kept.send(runId, message)
      },
    }
  }, 'MUST keep the questions of runs apart'),
  broken('wakes the run that a message is for', (kept) => ({
    async send(runId, message) {
      const token = (await kept.get(runId))?.token ?? 0
      const seq = await kept.send(runId, message)
      await kept.append(runId, { token, entries: [], patch: { status: 'running', resumeAt: message.now }, now: message.now })
      return seq
    },
  }), 'MUST send without a lease, and leave lease, status and journal as they are'),
  broken('lets a run wait on when it was answered', (kept) => ({ send: (runId, message) => kept.send(runId, { ...message, wakes: false }) }),
    'MUST make a suspended run due with a message that wakes it, unless it is due before then, and leave a run of another status as it is'),
  broken('takes messages for runs that do not exist', (kept) => ({
    send: async (runId, message) => (await kept.get(runId) ? kept.send(runId, message) : 1),
  }), 'MUST refuse a message to a run that does not exist with UNKNOWN_RUN'),

  // remove
  broken('leaves the inbox of a removed run', (kept) => {
    const left = new Map<string, Awaited<ReturnType<Store['inbox']>>>()
    return {
      async remove(runId, now) {
        left.set(runId, await kept.inbox(runId, 0))
        return kept.remove(runId, now)
      },
      inbox: async (runId, after) => left.get(runId) ?? kept.inbox(runId, after),
    }
  }, 'MUST remove a run with its journal and its inbox', 'MUST let the id of a removed run be used again, with nothing of the old run'),
  broken('removes a run that is being driven', (kept) => ({ remove: (runId) => kept.remove(runId, Infinity) }),
    'MUST resolve remove to false, and change nothing, while a lease is held'),
  broken('keeps a run in the very moment in which its lease ends', (kept) => ({ remove: (runId, now) => kept.remove(runId, now - 1) }),
    'MUST remove a run whose lease has ended or was given back'),
  broken('says that it has removed what was not there', (kept) => ({
    remove: async (runId, now) => await kept.remove(runId, now) || !await kept.get(runId),
  }), 'MUST resolve remove to false for a run that does not exist'),
  broken('removes every run', (kept) => ({
    async remove(runId, now) {
      for (const row of await kept.list()) if (row.runId !== runId) await kept.remove(row.runId, Infinity)
      return kept.remove(runId, now)
    },
  }), 'MUST leave other runs alone when one is removed'),

  // values
  broken('keeps JSON values instead of their text', (kept) => ({
    read: async (...given) => (await kept.read(...given)).map((entry) => {
      try {
        return { ...entry, body: JSON.stringify(JSON.parse(entry.body)) }
      } catch {
        return entry
      }
    }),
  }), 'MUST keep the bodies and sums of entries exactly'),
  broken('normalizes Unicode in messages', (kept) => ({
    send: (runId, message) => kept.send(runId, { ...message, body: message.body.normalize('NFC') }),
  }), 'MUST keep the bodies of messages exactly'),
  broken('cuts bodies at 64 KB', (kept) => ({
    read: async (...given) => (await kept.read(...given)).map((entry) => ({ ...entry, body: entry.body.slice(0, 65_536) })),
  }), 'MUST keep a body of 1 MB exactly'),
  broken('trims the owner', (kept) => onRows(kept, (row) => ({ ...row, owner: row.owner && row.owner.trim() })),
    'MUST keep the owner exactly'),
  broken('does not look at the case of ids', (kept) => ({
    create: (run) => kept.create({ ...run, runId: run.runId.toLowerCase() }),
    get: (runId) => kept.get(runId.toLowerCase()),
    read: (runId, after) => kept.read(runId.toLowerCase(), after),
  }), 'MUST keep runs apart whose ids differ in any character'),
  broken('ends names at a NUL', (kept) => ({
    create: (run) => kept.create({ ...run, agent: run.agent.split('\0')[0]!, threadId: run.threadId && run.threadId.split('\0')[0]! }),
    send: (runId, message) => kept.send(runId, { ...message, question: message.question && message.question.split('\0')[0]! }),
  }),
    'MUST keep agents and threads apart whose names differ in any character', 'MUST keep questions apart whose names differ in any character'),
  broken('takes an empty threadId for none', (kept) => ({ create: (run) => kept.create({ ...run, threadId: run.threadId || null }) }),
    'MUST keep a threadId without characters apart from none'),
  broken('renews all leases at once', (kept) => ({
    async renew(runId, token, end) {
      for (const row of await kept.list()) await kept.renew(row.runId, row.token, end)
      return kept.renew(runId, token, end)
    },
  }), 'MUST keep one run as it is whatever happens to another'),
]

describe('the conformance suite', () => {
  for (const { how, fixture, caught } of BROKEN) {
    for (const name of caught) {
      it(`catches a store that ${how}, by "${name}"`, async () => {
        const found = storeConformance(fixture).find((candidate) => candidate.name === name)
        await expect(found?.run()).rejects.toBeInstanceOf(AssertionError)
      })
    }
  }

  const names = storeConformance(async () => ({ store: memoryStore() })).map((one) => one.name)

  it('has a broken store for each of its rules', () => {
    const caught = new Set(BROKEN.flatMap((one) => one.caught))
    expect([...caught].toSorted()).toEqual(names.toSorted())
  })

  it('names each rule once, with MUST', () => {
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^MUST [a-zA-Z]/.test(name))).toEqual([])
  })

  it('closes the stores and cleans up after a case that fails', async () => {
    const events: string[] = []
    const kept = memoryStore()
    const cases = storeConformance(async () => ({
      store: { ...kept, create: async () => { throw new Error('no disk') }, close: async () => void events.push('closed') },
      cleanup: async () => void events.push('cleaned up'),
    }))
    const failing = cases.find((one) => one.name === 'MUST create a run without entries')
    await expect(failing?.run()).rejects.toMatchObject({ name: 'AssertionError', cause: expect.objectContaining({ message: 'no disk' }) })
    expect(events).toEqual(['closed', 'cleaned up'])
  })
})
