import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { entries, entry, newRun, T0 } from '../conformance/sample.ts'
import type { Connection } from './connection.ts'
import { connection } from './connection.ts'
import { storeFailure } from './failure.ts'
import { appendEntries, readEntries } from './journal.ts'
import { openFile } from './open.ts'
import { findRun } from './row.ts'
import { createRun } from './runs.ts'

/** A new file with the run `a` of one entry. */
function openedFile(): { file: string; open: Connection } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const file = join(folder, 'runs.db')
  const open = connection(openFile(file, true), file)
  onTestFinished(() => {
    open.close()
    rmSync(folder, { recursive: true })
  })
  open.transaction(() => createRun(open, newRun('a')))
  return { file, open }
}

function failureOf(work: () => void, file: string): unknown {
  try {
    work()
  } catch (error) {
    return storeFailure(error, file)
  }
  return undefined
}

describe('a connection', () => {
  it('leaves nothing of a transaction behind whose work throws, and the next one works', () => {
    const { open } = openedFile()
    expect(() => open.transaction(() => {
      appendEntries(open, 'a', { token: 0, entries: entries(2, 3), patch: { status: 'completed' }, now: T0 })
      throw new Error('changed my mind')
    })).toThrow('changed my mind')
    expect([readEntries(open, 'a', 0).length, findRun(open, 'a')?.row.status]).toEqual([1, 'running'])
    open.transaction(() => appendEntries(open, 'a', { token: 0, entries: entries(2, 3), now: T0 }))
    expect(readEntries(open, 'a', 0)).toEqual(entries(1, 3))
  })

  it('says STORE_UNAVAILABLE when the disk is full: nothing is half-written, and it goes on when there is room', () => {
    const { file, open } = openedFile()
    const large = [entry(2, 'x'.repeat(50_000)), entry(3, 'x'.repeat(50_000))]
    const append = (): void => open.transaction(() =>
      appendEntries(open, 'a', { token: 0, entries: large, patch: { status: 'completed' }, now: T0 }))
    open.sql('PRAGMA max_page_count = 30').get() // room for the first entry, not for the second
    expect(failureOf(append, file)).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the disk is full') })
    expect(readEntries(open, 'a', 0)).toEqual(entries(1, 1))
    expect(findRun(open, 'a')?.row).toMatchObject({ status: 'running', lastSeq: 1 })
    open.sql('PRAGMA max_page_count = 1000').get()
    append()
    expect(readEntries(open, 'a', 0)).toEqual([entry(1), ...large])
  })

  it.skipIf(process.platform === 'win32').each([
    ['deleted', (file: string) => rmSync(file)],
    ['moved away', (file: string) => renameSync(file, `${file}.old`)],
    ['replaced by a copy', (file: string) => {
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    }],
  ])('refuses to write when the file was %s, where nobody would find it', (_, change) => {
    const { file, open } = openedFile()
    change(file)
    const append = (): void => open.transaction(() => appendEntries(open, 'a', { token: 0, entries: entries(2, 2), now: T0 }))
    expect(failureOf(append, file)).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('deleted or replaced') })
    expect(readEntries(open, 'a', 0)).toEqual(entries(1, 1))
  })

  it('holds the lock before the work of a transaction begins', () => {
    const { file, open } = openedFile()
    const other = connection(openFile(file, false), file)
    onTestFinished(() => other.close())
    let began = false
    open.transaction(() => {
      expect(() => other.transaction(() => { began = true })).toThrow('database is locked')
    })
    expect(began).toBe(false)
  })

  it('commits to the disk', () => {
    const { open } = openedFile()
    const settings = open.sql('SELECT synchronous, journal_mode FROM pragma_synchronous, pragma_journal_mode').get()
    expect(settings).toEqual({ synchronous: 2, journal_mode: 'wal' })
  })

  it.runIf(process.platform === 'linux')('keeps its locks when the file is opened and closed a second time in the process', () => {
    const { file } = openedFile()
    const inode = `:${statSync(file).ino} `
    const locks = (): number => readFileSync('/proc/locks', 'utf8').split('\n').filter((line) => line.includes(inode)).length
    const held = locks()
    expect(held).toBeGreaterThan(0)
    openFile(file, false).close()
    expect(locks()).toBe(held)
  })

  it('goes back to WAL in a copy that lost it', () => {
    const { file, open } = openedFile()
    const copy = `${file}.copy`
    open.sql(`VACUUM INTO '${copy}'`).run()
    const reopened = connection(openFile(copy, false), copy)
    onTestFinished(() => reopened.close())
    expect(reopened.sql('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(readEntries(reopened, 'a', 0)).toEqual(entries(1, 1))
  })
})
