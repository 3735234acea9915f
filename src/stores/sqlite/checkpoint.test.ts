/**
 * A checkpoint copies the newest version of every page from the log into the file, in the order of the pages. It is cut short by a kill,
 * by a disk that is full, and it is found half-done by whoever looks meanwhile. The log stays until all of it is copied.
 */
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { entry, newRun, T0 } from '../conformance/sample.ts'
import { sqliteStore } from '../sqlite.ts'
import type { SqliteStoreOptions } from '../sqlite.ts'
import { createFile } from './create.ts'
import { sqliteFileFaults } from './integrity.ts'
import { FORMAT } from './schema.ts'

const JOURNAL = Array.from({ length: 24 }, (_, index) => entry(index + 1, `${index + 1} ${'x'.repeat(index * 400)}`))

interface Found {
  readonly main: Buffer
  readonly log: Buffer
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** What a store leaves that is killed after it has written {@link JOURNAL}; the first half of it was copied from the log before. */
async function killed(alsoLater: (database: DatabaseSync) => void = () => undefined): Promise<Found> {
  const file = join(newFolder(), 'runs.db')
  const store = sqliteStore(file)
  await store.open()
  await store.create(newRun('a', { entries: JOURNAL.slice(0, 12) }))
  await store.close()
  await store.open()
  for (const next of JOURNAL.slice(12)) await store.append('a', { token: 0, entries: [next], now: T0 })
  const other = new DatabaseSync(file)
  alsoLater(other)
  const found = { main: readFileSync(`${file}`), log: readFileSync(`${file}-wal`) }
  other.close()
  await store.close()
  return found
}

/** The newest version of each page in the log. */
function pagesIn({ log }: Found): [page: number, content: Buffer][] {
  const size = log.readUInt32BE(8)
  const pages = new Map<number, Buffer>()
  for (let at = 32; at < log.length; at += 24 + size) pages.set(log.readUInt32BE(at), log.subarray(at + 24, at + 24 + size))
  return [...pages].toSorted(([one], [other]) => one - other)
}

/** The file after each write of a checkpoint, and after the first half of each: what fits on a disk that is then full. */
function statesOf(found: Found): Buffer[] {
  let main = found.main
  const states = [main]
  for (const [page, content] of pagesIn(found)) {
    for (const part of [content.subarray(0, 1000), content]) {
      const at = (page - 1) * content.length
      const next = Buffer.alloc(Math.max(main.length, at + part.length))
      main.copy(next)
      part.copy(next, at)
      states.push(main = next)
    }
  }
  return states
}

function put({ main, log }: Found): string {
  const file = join(newFolder(), 'runs.db')
  writeFileSync(file, main)
  writeFileSync(`${file}-wal`, log)
  return file
}

async function journalIn(file: string, options: SqliteStoreOptions = {}): Promise<unknown> {
  const store = sqliteStore(file, { create: false, ...options })
  try {
    await store.open()
    return await store.read('a')
  } finally {
    await store.close()
  }
}

describe('a file in the middle of a checkpoint', () => {
  it('has states in which it is shorter than its header says, which is damage only without the log', async () => {
    const found = await killed()
    const states = statesOf(found)
    expect(states.length).toBeGreaterThan(40)
    const file = put({ main: states[2]!, log: found.log })
    rmSync(`${file}-wal`)
    await expect(journalIn(file)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  })

  it('opens and has everything, whichever write was the last, and goes on', async () => {
    const { log, main } = await killed()
    for (const state of statesOf({ log, main })) {
      const file = put({ main: state, log })
      expect(await journalIn(file)).toEqual(JOURNAL)
      expect(readdirSync(join(file, '..'))).toEqual(['runs.db'])
      expect(await journalIn(file)).toEqual(JOURNAL)
    }
  })

  it('opens with the -shm of the process that was killed, and with one that is garbage', async () => {
    const { log, main } = await killed()
    const file = put({ main: statesOf({ log, main })[2]!, log })
    writeFileSync(`${file}-shm`, Buffer.alloc(32_768, 'garbage'))
    expect(await journalIn(file)).toEqual(JOURNAL)
  })

  it('is whole for who only reads, and stays as it is', async () => {
    const { log, main } = await killed()
    for (const state of statesOf({ log, main })) {
      const file = put({ main: state, log })
      expect(await journalIn(file, { readOnly: true })).toEqual(JOURNAL)
      expect(await sqliteFileFaults(file)).toEqual([])
      expect([readFileSync(file).equals(state), readFileSync(`${file}-wal`).equals(log)]).toEqual([true, true])
    }
  })

  it.skipIf(process.platform === 'win32')('is whole also through a link, beside which there is no log', async () => {
    const { log, main } = await killed()
    const link = join(newFolder(), 'link.db')
    symlinkSync(put({ main: statesOf({ log, main })[2]!, log }), link)
    expect(await journalIn(link, { readOnly: true })).toEqual(JOURNAL)
    expect(await journalIn(link)).toEqual(JOURNAL)
  })

  it('is STORE_NEWER when a later format wrote it, whichever write was the last', async () => {
    const found = await killed((database) => database.exec(`PRAGMA user_version = ${FORMAT + 1}`))
    for (const main of statesOf(found)) {
      await expect(journalIn(put({ main, log: found.log }))).rejects.toMatchObject({ code: 'STORE_NEWER' })
    }
  })

  it('is STORE_FOREIGN when it is another program\'s, whose file and log stay as they are', async () => {
    const file = join(newFolder(), 'app.db')
    const database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)')
    database.exec(`INSERT INTO notes VALUES (zeroblob(30000)); CREATE TABLE more (text)`)
    const log = readFileSync(`${file}-wal`)
    const states = statesOf({ main: readFileSync(file), log })
    database.close()
    for (const main of states) {
      const found = put({ main, log })
      await expect(journalIn(found)).rejects.toMatchObject({ code: 'STORE_FOREIGN' })
      expect(readdirSync(join(found, '..'))).toEqual(['runs.db', 'runs.db-wal'])
      expect([readFileSync(found).equals(main), readFileSync(`${found}-wal`).equals(log)]).toEqual([true, true])
    }
  })
})

describe('a log that was cut short', () => {
  it('gives all commits that are whole in it, at any length', async () => {
    const { log, main } = await killed()
    let most = 12
    for (let length = 0; length <= log.length; length += 5003) {
      const journal = await journalIn(put({ main, log: log.subarray(0, length) })) as typeof JOURNAL
      expect(journal).toEqual(JOURNAL.slice(0, journal.length))
      expect(journal.length).toBeGreaterThanOrEqual(most)
      most = journal.length
    }
    expect(most).toBeGreaterThanOrEqual(23)
  })
})

describe('what a file says by itself', () => {
  it('whose it is it says from the start, without a log', () => {
    const file = join(newFolder(), 'runs.db')
    createFile(file)
    expect([existsSync(`${file}-wal`), readFileSync(file).toString('latin1', 68, 72)]).toEqual([false, 'HOLD'])
  })

  it('is STORE_CORRUPT when it is empty and its log is there, which nobody is told to throw away', async () => {
    const { log } = await killed()
    const file = put({ main: Buffer.alloc(0), log })
    await expect(journalIn(file)).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(/its log .*runs\.db-wal/) })
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true)
  })
})

describe('a store that only reads, opened while nobody writes', () => {
  it('sees what is then written, through checkpoints, and leaves nothing beside the file', async () => {
    const file = put(await killed())
    await journalIn(file)
    const reading = sqliteStore(file, { readOnly: true })
    const writing = sqliteStore(file)
    await reading.open()
    await writing.open()
    for (let seq = 25; seq <= 40; seq++) {
      await writing.append('a', { token: 0, entries: [entry(seq, 'x'.repeat(400_000))], now: T0 })
      expect((await reading.read('a')).length).toBe(seq)
    }
    await expect(reading.create(newRun('b'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await writing.close()
    expect((await reading.read('a')).length).toBe(40)
    await reading.close()
    expect(readdirSync(join(file, '..'))).toEqual(['runs.db'])
  })

  it.skipIf(process.platform === 'win32')('reads where no log may be made', async () => {
    const file = put(await killed())
    await journalIn(file)
    const copy = join(newFolder(), 'runs.db')
    copyFileSync(file, copy)
    chmodSync(copy, 0o444)
    chmodSync(join(copy, '..'), 0o555)
    onTestFinished(() => chmodSync(join(copy, '..'), 0o755))
    expect(await journalIn(copy, { readOnly: true })).toEqual(JOURNAL)
    expect(readdirSync(join(copy, '..'))).toEqual(['runs.db'])
  })
})

describe('a rollback journal that a killed program left', () => {
  it('is played back when the file is opened', async () => {
    const file = put(await killed())
    await journalIn(file)
    const rolled = await killedInRollback(file)
    expect(await journalIn(rolled)).toEqual(JOURNAL)
    expect(readdirSync(join(rolled, '..'))).toEqual(['runs.db'])
  })

  it('is no damage for who only reads: STORE_UNAVAILABLE, and it stays', async () => {
    const file = put(await killed())
    await journalIn(file)
    const rolled = await killedInRollback(file)
    await expect(journalIn(rolled, { readOnly: true })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(existsSync(`${rolled}-journal`)).toBe(true)
  })
})

/** A copy without WAL, as it is in the middle of a transaction that changes all of it and more. */
async function killedInRollback(file: string): Promise<string> {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN')
  database.exec(`UPDATE journal SET body = 'lost' || body; CREATE TABLE more (text); INSERT INTO more VALUES (zeroblob(100000))`)
  const copy = join(newFolder(), 'runs.db')
  for (const end of ['', '-journal']) copyFileSync(file + end, copy + end)
  database.exec('ROLLBACK')
  database.close()
  return copy
}
