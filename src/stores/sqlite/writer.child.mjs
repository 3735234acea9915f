/**
 * A process that works on a store for `processes.test.ts`: it gets one order by message and answers when it has carried it out.
 * JavaScript, so that it is not built into the package.
 */
import { sqliteStore } from '../sqlite.ts'

const T0 = 1_700_000_000_000
/** @param {number} seq @param {string} body */
const entry = (seq, body) => ({ seq, body, sum: `sum of ${seq}` })

const orders = {
  /** Opens the file, creates a run of its own, closes. */
  async visit({ file, runId }) {
    const store = sqliteStore(file)
    await store.open()
    await store.create({ runId, agent: 'visitor', threadId: null, createdAt: T0, entries: [] })
    await store.close()
  },

  /** Writes `count` entries, one append each, to each of `runIds` at the same time. */
  async append({ file, runIds, count }) {
    const store = sqliteStore(file)
    await store.open()
    await Promise.all(runIds.map(async (runId) => {
      await store.create({ runId, agent: 'writer', threadId: null, createdAt: T0, entries: [] })
      const token = await store.take(runId, { expectedToken: 0, owner: runId, leaseUntil: T0 + 60_000, now: T0 })
      for (let seq = 1; seq <= count; seq++) {
        await store.append(runId, { token, entries: [entry(seq, `${runId} ${seq}`)], now: T0 + seq })
        if (seq % 10 === 0) await store.send(runId, { question: null, body: `${seq}`, now: T0 + seq })
      }
    }))
    await store.close()
  },

  /** Takes the lease of one run again and again until `wins` attempts were its own; each writes one entry and gives the lease back. */
  async contend({ file, runId, contender, wins }) {
    const store = sqliteStore(file)
    await store.open()
    await store.create({ runId, agent: 'contender', threadId: null, createdAt: T0, entries: [] })
    const tokens = []
    while (tokens.length < wins) {
      const seen = await store.get(runId)
      const token = await store.take(runId, { expectedToken: seen.token, owner: contender, leaseUntil: T0 + 60_000, now: T0 })
      if (token === null) continue
      const { lastSeq } = await store.get(runId)
      try {
        await store.append(runId, { token, entries: [entry(lastSeq + 1, `${token} ${contender}`)], patch: { release: true }, now: T0 })
        tokens.push(token)
      } catch (error) {
        if (error.code !== 'STALE_TOKEN') throw error
      }
    }
    await store.close()
    return tokens
  },

  /** Appends one batch of three large entries; the file stays open for the next. */
  async appendLarge({ file, runId }) {
    open ??= await openLarge(file, runId)
    const { lastSeq } = await open.store.get(runId)
    const entries = [1, 2, 3].map((n) => entry(lastSeq + n, `${lastSeq + n} ${'x'.repeat(100_000)}`))
    await open.store.append(runId, { token: open.token, entries, now: T0 })
    return lastSeq + 3
  },

  /** Such batches for ever, telling the seq of each that was acknowledged. */
  async appendForEver(order) {
    for (;;) process.send({ acknowledged: await orders.appendLarge(order) })
  },
}

/** @type {{ store: import('../../journal/store.ts').Store, token: number } | undefined} */
let open

async function openLarge(file, runId) {
  const store = sqliteStore(file)
  await store.open()
  await store.create({ runId, agent: 'victim', threadId: null, createdAt: T0, entries: [] })
  const { token } = await store.get(runId)
  return { store, token: await store.take(runId, { expectedToken: token, owner: 'victim', leaseUntil: T0 + 60_000, now: T0 }) }
}

process.on('message', async (order) => {
  try {
    process.send({ done: await orders[order.name](order) ?? null })
  } catch (error) {
    process.send({ failed: `${error.code}: ${error.message}` })
  }
})
process.send({ ready: true })
