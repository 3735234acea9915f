/**
 * Writes the golden files of the format that this build writes: `npx node scripts/golden.ts`. A format gets them once, when it is made;
 * from the release with it on they are kept as they are, and test/golden/golden.test.ts reads those of all formats. It refuses to write
 * over them: until that release, delete them first.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { createRunner, sqliteStore } from '../src/index.ts'
import { FORMAT, type Entry } from '../src/journal/entry.ts'
import { chained, EVERY_MESSAGE, everyEntry } from '../src/journal/fixtures/every-entry.ts'
import { writeMessage } from '../src/journal/message.ts'
import type { Store } from '../src/journal/store.ts'
import { world } from '../test/golden/desk.ts'
import { mortal } from '../test/support/crash.ts'

const EVERY = 'every-entry'
const target = join(import.meta.dirname, `../test/golden/format-${FORMAT}`)
if (existsSync(`${target}.db.gz`)) {
  console.error(`${target}.db.gz is there: the files of a format are kept as they were written`)
  process.exit(1)
}

/** A run that was killed in its charge. */
async function killed(store: Store, runId: string): Promise<void> {
  const { agent } = world()
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"name":"charge"/)
  void createRunner({ agents: [agent], store: dying.store }).run(agent, { order: 7, when: new Date(0) }, { runId, threadId: 'thread-9' })
  await died
  // Nothing of the machine that writes the file.
  await store.take(runId, { expectedToken: 1, owner: '{"id":"golden","host":"example.invalid","pid":1}', leaseUntil: 1, now: 1_700_000_000_000 })
}

/** One with every type of entry, value and message. */
async function everything(store: Store): Promise<void> {
  const entries = everyEntry(EVERY)
  const [first, ...rest] = chained(entries)
  const created = entries[0] as Entry & { type: 'run-created' }
  await store.create({ runId: EVERY, agent: created.agent, threadId: created.threadId ?? null, createdAt: created.at, entries: [first!] })
  for (let expectedToken = 0; expectedToken < 4; expectedToken++) await store.take(EVERY, { expectedToken, owner: '{"pid":1}', leaseUntil: 1, now: 1 })
  await store.append(EVERY, { token: 4, entries: rest, patch: { status: 'completed', release: true }, now: entries.at(-1)!.at })
  for (const [i, message] of EVERY_MESSAGE.entries()) await store.send(EVERY, { question: `q${i}`, body: writeMessage(EVERY, message), now: 1_700_000_000_500 })
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
const file = join(folder, 'runs.db')
const store = sqliteStore(file)
await store.open()
await killed(store, 'order-7')
await everything(store)
const runs = []
for (const runId of ['order-7', EVERY]) runs.push({ row: await store.get(runId), journal: await store.read(runId), inbox: await store.inbox(runId, 0) })
await store.close()
const database = new DatabaseSync(file)
const copy = join(folder, 'copy.db')
database.prepare('VACUUM INTO ?').run(copy) // without what was written over
database.close()
writeFileSync(`${target}.db.gz`, gzipSync(readFileSync(copy), { level: 9 }))
writeFileSync(`${target}.json`, `${JSON.stringify({ format: FORMAT, runs }, null, 1)}\n`)
rmSync(folder, { recursive: true })
console.log(`${target}.db.gz and ${target}.json`)
process.exit(0)
