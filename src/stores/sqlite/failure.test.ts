import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../errors.ts'
import { isBusy, isNotDatabase, storeFailure } from './failure.ts'

const sqliteError = (errcode: number): Error => Object.assign(new Error('words of SQLite'), { code: 'ERR_SQLITE_ERROR', errcode })

describe('storeFailure', () => {
  it.each([
    [5, 'STORE_UNAVAILABLE', 'another process held the write lock for too long'],
    [8, 'STORE_UNAVAILABLE', 'it cannot be written'],
    [8 | (6 << 8), 'STORE_UNAVAILABLE', 'it cannot be written'], // READONLY_DIRECTORY
    [10, 'STORE_UNAVAILABLE', 'reading or writing failed'],
    [10 | (4 << 8), 'STORE_UNAVAILABLE', 'reading or writing failed'], // IOERR_FSYNC
    [13, 'STORE_UNAVAILABLE', 'the disk is full'],
    [14, 'STORE_UNAVAILABLE', 'it cannot be opened'],
    [18, 'VALUE_TOO_LARGE', 'a value is larger than SQLite can hold'],
    [11, 'STORE_CORRUPT', 'is damaged'],
    [11 | (3 << 8), 'STORE_CORRUPT', 'is damaged'], // CORRUPT_INDEX
    [26, 'STORE_CORRUPT', 'is damaged'],
    [2067, 'STORE_CORRUPT', 'is damaged'], // CONSTRAINT_UNIQUE
    [1555, 'STORE_CORRUPT', 'is damaged'], // CONSTRAINT_PRIMARYKEY
  ])('turns result code %i into %s: %s', (errcode, code, words) => {
    const cause = sqliteError(errcode)
    const failure = storeFailure(cause, '/data/runs.db', 'ticket-1')
    expect(failure).toMatchObject({ code, runId: 'ticket-1', cause, message: expect.stringContaining(words) })
    expect(failure).toMatchObject({ message: expect.stringMatching(/^\/data\/runs\.db.*words of SQLite/) })
  })

  it('turns an error of the file system into STORE_UNAVAILABLE with its reason', () => {
    const cause = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS', errno: -30 })
    const failure = storeFailure(cause, 'runs.db')
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('read-only file system'), cause })
  })

  it.each([
    ['a mistake in a statement', sqliteError(1)],
    ['a broken constraint', sqliteError(19 | (5 << 8))],
    ['another mistake of ours', new TypeError('x is not a function')],
    ['an error of Holdfast', new HoldfastError('STALE_TOKEN', 'stale')],
    ['what is no error', 'thrown text'],
  ])('leaves %s as it is', (_, error) => {
    expect(storeFailure(error, 'runs.db')).toBe(error)
  })
})

describe('isBusy and isNotDatabase', () => {
  it.each([[5, true], [5 | (1 << 8), true], [6, true], [10, false], [0, false]])('result code %i: busy is %s', (errcode, busy) => {
    expect(isBusy(sqliteError(errcode))).toBe(busy)
  })

  it('take nothing else for an error of SQLite', () => {
    expect([isBusy(new Error('database is locked')), isNotDatabase(new Error('file is not a database')), isNotDatabase(undefined)])
      .toEqual([false, false, false])
    expect(isNotDatabase(sqliteError(26))).toBe(true)
  })
})
