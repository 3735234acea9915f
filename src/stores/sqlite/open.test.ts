import {
  appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync,
  truncateSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Store } from '../../journal/store.ts'
import { entries, newRun, T0 } from '../conformance/sample.ts'
import { sqliteStore } from '../sqlite.ts'
import { sqliteFileFaults } from './integrity.ts'
import { FORMAT } from './schema.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

async function opened(file: string): Promise<Store> {
  const store = sqliteStore(file)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

/** A store with one run of 200 entries, closed again. */
async function filledFile(): Promise<string> {
  const file = join(newFolder(), 'runs.db')
  const store = sqliteStore(file)
  await store.open()
  await store.create(newRun('a', { entries: entries(1, 200) }))
  await store.close()
  return file
}

/** Changes a file through SQLite, behind the store's back. */
function inSqlite(file: string, ...statements: string[]): void {
  const database = new DatabaseSync(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}

function overwrite(file: string, at: number, ...bytes: number[]): void {
  const content = readFileSync(file)
  content.set(bytes, at)
  writeFileSync(file, content)
}

/** Node 22.13 and 22.14 take no URL, so that a look at a database in WAL mode leaves an empty log beside it. */
const LEAVES_LOG = /^22\.1[34]\./.test(process.versions.node)

/** Expects that opening is refused and that no file in the folder has changed, appeared or gone. */
async function expectRefused(file: string, code: string, words: RegExp): Promise<void> {
  const before = contentOf(dirname(file))
  await expectOpening(file, code, words)
  const after = contentOf(dirname(file))
  if (LEAVES_LOG) for (const end of ['-wal', '-shm']) if (!(basename(file) + end in before)) delete after[basename(file) + end]
  expect(after).toEqual(before)
}

async function expectOpening(file: string, code: string, words: RegExp): Promise<void> {
  await expect(sqliteStore(file).open()).rejects.toMatchObject({ code, message: expect.stringMatching(words) })
}

function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((found) => found.isFile())
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name)).toString('base64')]))
}

describe('a file that is absent', () => {
  it('is created, with the folders above it and nothing else beside it', async () => {
    const folder = newFolder()
    const file = join(folder, 'not', 'yet', 'there', 'runs.db')
    const store = await opened(file)
    expect(await store.create(newRun('a'))).toBe(true)
    await store.close()
    expect(readdirSync(dirname(file))).toEqual(['runs.db'])
  })

  it('is STORE_NOT_FOUND with create: false, and nothing is made', async () => {
    const folder = newFolder()
    const store = sqliteStore(join(folder, 'below', 'runs.db'), { create: false })
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(readdirSync(folder)).toEqual([])
  })

  it('may have a name that means something in a URL or in SQL', async () => {
    const folder = newFolder()
    const name = `it's 100% ?mode=memory#ä.db`
    const store = await opened(join(folder, name))
    await store.create(newRun('a'))
    await store.close()
    expect(readdirSync(folder)).toEqual([name])
    expect((await (await opened(join(folder, name))).list()).length).toBe(1)
  })

  it('is not created beside the log of a store that has lost its file', async () => {
    const file = join(newFolder(), 'runs.db')
    writeFileSync(`${file}-wal`, 'commits')
    await expectRefused(file, 'STORE_CORRUPT', /the file is gone, but its log .*runs\.db-wal.* is still there/)
  })

  it('can be opened after a first attempt has failed', async () => {
    const file = join(newFolder(), 'runs.db')
    const store = sqliteStore(file)
    writeFileSync(file, '')
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_EMPTY' })
    await expect(store.list()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('is not open') })
    rmSync(file)
    await store.open()
    expect(await store.list()).toEqual([])
    await store.close()
  })
})

describe('a file that is not a store', () => {
  it('is STORE_EMPTY when there is nothing in it, and is not adopted', async () => {
    const file = join(newFolder(), 'runs.db')
    writeFileSync(file, '')
    await expectRefused(file, 'STORE_EMPTY', /is an empty file.*Delete it or give another path/)
  })

  it.each([
    ['one byte', 'x'],
    ['text', 'Dear diary, today I ...\n'.repeat(500)],
    ['JSON', '{"runs":[]}'],
    ['the first bytes of a database only', 'SQLite format 3\0'],
  ])('is STORE_FOREIGN when it holds %s', async (_, content) => {
    const file = join(newFolder(), 'notes')
    writeFileSync(file, content)
    await expectRefused(file, 'STORE_FOREIGN', /is not a Holdfast file: it is not a SQLite database/)
  })

  it.each(['delete', 'wal'])('is STORE_FOREIGN when it is the database of another program (journal_mode %s)', async (mode) => {
    const file = join(newFolder(), 'app.db')
    inSqlite(file, `PRAGMA journal_mode = ${mode}`, 'CREATE TABLE runs (id TEXT)', 'PRAGMA user_version = 1')
    await expectRefused(file, 'STORE_FOREIGN', /is the SQLite database of another program/)
  })

  it('is STORE_FOREIGN when the other program is at work on it, whose log is left alone', async () => {
    const file = join(newFolder(), 'app.db')
    inSqlite(file, 'PRAGMA journal_mode = wal')
    const database = new DatabaseSync(file)
    onTestFinished(() => database.close())
    database.exec('BEGIN IMMEDIATE; CREATE TABLE notes (id TEXT)')
    await expectRefused(file, 'STORE_FOREIGN', /another program/)
    database.exec('COMMIT')
  })
})

describe('a file of a later format', () => {
  it('is STORE_NEWER', async () => {
    const file = await filledFile()
    inSqlite(file, `PRAGMA user_version = ${FORMAT + 1}`)
    await expectRefused(file, 'STORE_NEWER', new RegExp(`has format ${FORMAT + 1}.*formats up to ${FORMAT}.*Upgrade`))
  })

  it('is STORE_NEWER also when the newest commits, still in the log, made it so', async () => {
    const file = await filledFile()
    const later = new DatabaseSync(file)
    onTestFinished(() => later.close())
    later.exec(`PRAGMA user_version = ${FORMAT + 1}`)
    await expectOpening(file, 'STORE_NEWER', /has format/)
  })
})

describe('a file that is damaged', () => {
  it('is STORE_CORRUPT when its end is cut off', async () => {
    const file = await filledFile()
    truncateSync(file, statSync(file).size - 4096)
    await expectOpening(file, 'STORE_CORRUPT', /is damaged: .*malformed/)
  })

  it('is STORE_CORRUPT when the list of tables is damaged', async () => {
    const file = await filledFile()
    overwrite(file, 100, 0xff, 0xff)
    await expectOpening(file, 'STORE_CORRUPT', /is damaged/)
  })

  it('is STORE_CORRUPT when a table is missing', async () => {
    const file = await filledFile()
    inSqlite(file, 'DROP TABLE inbox')
    await expectOpening(file, 'STORE_CORRUPT', /a table is missing/)
  })

  it('is STORE_CORRUPT when no version ever wrote its format', async () => {
    const file = await filledFile()
    inSqlite(file, 'PRAGMA user_version = 0')
    await expectRefused(file, 'STORE_CORRUPT', /there is no format 0/)
  })

  it('is STORE_CORRUPT, naming the run, when the damage is met later', async () => {
    const file = await filledFile()
    const pages = statSync(file).size / 4096
    for (let page = 2; page < pages; page++) {
      // 0x0d begins a leaf page of a table: damage those, and leave what is read when a store is opened
      if (readFileSync(file)[page * 4096] === 0x0d) overwrite(file, page * 4096, 0xee)
    }
    const store = await opened(file)
    await expect(store.read('a')).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'a' })
  })

  it.each([
    ['a column is missing', 'ALTER TABLE runs RENAME COLUMN updated_at TO changed_at', /updated_at is missing/],
    ['a row is none', `UPDATE runs SET status = 'sleeping'`, /a row of run "a" is damaged: status is "sleeping"/],
  ])('is STORE_CORRUPT when %s', async (_, change, words) => {
    const file = await filledFile()
    inSqlite(file, change)
    const store = await opened(file)
    await expect(store.get('a')).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(words) })
    await expect(store.list()).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  })

  it('loads without what a crash left half-written at the end of its log', async () => {
    const file = await filledFile()
    const store = await opened(file)
    await store.append('a', { token: 0, entries: entries(201, 202), now: T0 })
    const copy = join(newFolder(), 'runs.db')
    copyFileSync(file, copy)
    copyFileSync(`${file}-wal`, `${copy}-wal`)
    const log = readFileSync(`${copy}-wal`)
    appendFileSync(`${copy}-wal`, log.subarray(32, 3000))
    expect((await (await opened(copy)).read('a')).length).toBe(202)
  })
})

describe('a path that cannot be used', () => {
  it('is STORE_UNAVAILABLE when it is a folder', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'runs.db'))
    await expectRefused(join(folder, 'runs.db'), 'STORE_UNAVAILABLE', /it is a folder/)
  })

  it('is STORE_UNAVAILABLE when a part of it is a file', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'data'), 'x')
    await expectOpening(join(folder, 'data', 'runs.db'), 'STORE_UNAVAILABLE', /it cannot be opened/)
  })

  it.skipIf(process.platform === 'win32')('is STORE_UNAVAILABLE when it is a device', async () => {
    await expectOpening('/dev/null', 'STORE_UNAVAILABLE', /not an ordinary file/)
  })

  it.skipIf(process.platform === 'win32')('is STORE_UNAVAILABLE when it is a link to nowhere', async () => {
    const folder = newFolder()
    symlinkSync(join(folder, 'nowhere', 'runs.db'), join(folder, 'runs.db'))
    await expectOpening(join(folder, 'runs.db'), 'STORE_UNAVAILABLE', /a link/)
    expect(readdirSync(folder)).toEqual(['runs.db'])
  })
})

describe.skipIf(process.platform === 'win32')('without permission', () => {
  /** Opens as a user whom permissions bind; they do not bind root. */
  async function openUnprivileged(file: string): Promise<void> {
    const root = process.geteuid?.() === 0
    const store = sqliteStore(file)
    if (root) process.seteuid?.(65_534)
    try {
      await store.open()
    } finally {
      if (root) process.seteuid?.(0)
      await store.close()
    }
  }

  it.each([
    ['a file that may not be read', 0o000, 0o777, /it cannot be opened/],
    ['a file that may not be written', 0o444, 0o777, /it cannot be written/],
    ['a folder in which nothing may be made', 0o666, 0o555, /it cannot be opened|it cannot be written/],
  ])('%s is STORE_UNAVAILABLE', async (_, fileMode, folderMode, words) => {
    const file = await filledFile()
    chmodSync(file, fileMode)
    chmodSync(dirname(file), folderMode)
    onTestFinished(() => chmodSync(dirname(file), 0o755))
    await expect(openUnprivileged(file)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringMatching(words) })
  })

  it('a folder in which no file may be created is STORE_UNAVAILABLE', async () => {
    const folder = newFolder()
    chmodSync(folder, 0o555)
    onTestFinished(() => chmodSync(folder, 0o755))
    const opening = openUnprivileged(join(folder, 'runs.db'))
    await expect(opening).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('EACCES') })
  })
})

describe('a host whose disk does not last', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('is STORE_EPHEMERAL when the store is opened, naming host and variable, and nothing is made', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'answer')
    const folder = newFolder()
    await expectOpening(join(folder, 'runs.db'), 'STORE_EPHEMERAL', /AWS Lambda \(AWS_LAMBDA_FUNCTION_NAME\)/)
    expect(readdirSync(folder)).toEqual([])
  })

  it('is accepted with ephemeral: true', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'answer')
    const file = join(newFolder(), 'runs.db')
    const store = sqliteStore(file, { ephemeral: true })
    await store.open()
    await store.close()
    expect(existsSync(file)).toBe(true)
  })
})

describe('a store that only reads', () => {
  const readOnly = async (file: string): Promise<Store> => {
    const store = sqliteStore(file, { readOnly: true })
    onTestFinished(() => store.close())
    await store.open()
    return store
  }
  it('reads what is there, refuses what writes, and leaves the file and what lies beside it as it is', async () => {
    const file = await filledFile()
    const before = contentOf(dirname(file))
    const store = await readOnly(file)
    expect((await store.read('a')).length).toBe(200)
    await expect(store.create(newRun('b'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(store.append('a', { token: 0, entries: entries(201, 201), now: T0 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.close()
    expect(contentOf(dirname(file))).toEqual(before)
  })

  it('reads what another process has just written, which is in the log', async () => {
    const file = await filledFile()
    const writing = await opened(file)
    await writing.append('a', { token: 0, entries: entries(201, 202), now: T0 })
    expect((await (await readOnly(file)).read('a')).length).toBe(202)
  })

  it('makes none', async () => {
    const folder = newFolder()
    await expect(sqliteStore(join(folder, 'below', 'runs.db'), { readOnly: true }).open()).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(readdirSync(folder)).toEqual([])
  })

  it('is not refused on a disk that does not last', async () => {
    const file = await filledFile()
    vi.stubEnv('VERCEL', '1')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await (await readOnly(file)).list()).toHaveLength(1)
  })
})

describe('sqliteFileFaults', () => {
  it('finds nothing in a whole file, and leaves it as it is', async () => {
    const file = await filledFile()
    expect(await sqliteFileFaults(file)).toEqual([])
  })

  it('finds a journal without its run', async () => {
    const file = await filledFile()
    inSqlite(file, 'PRAGMA foreign_keys = OFF', `INSERT INTO journal VALUES (99, 1, '{}', '')`)
    expect(await sqliteFileFaults(file)).toEqual(['row 201 of table journal belongs to no run'])
  })

  it('finds an index that does not fit its table', async () => {
    const file = await filledFile()
    const { rootpage } = new DatabaseSync(file, { readOnly: true }).prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'runs_by_status'`).get() as { rootpage: number }
    overwrite(file, rootpage * 4096 - 9, 0x78) // the status, at the end of its page
    expect((await sqliteFileFaults(file)).join()).toContain('missing from index runs_by_status')
  })
})
