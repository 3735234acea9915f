import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { checkOptions, checkPath } from './options.ts'

describe('the arguments of sqliteStore', () => {
  it.each<[object, string]>([
    [{ busyTimeoutMs: -1 }, 'busyTimeoutMs must be an integer >= 0, got -1'],
    [{ busyTimeoutMs: 1.5 }, 'busyTimeoutMs must be an integer >= 0, got 1.5'],
    [{ busyTimeoutMs: Infinity }, 'busyTimeoutMs must be an integer >= 0, got Infinity'],
    [{ busyTimeoutMs: '5' }, 'busyTimeoutMs must be an integer >= 0, got "5"'],
    [{ create: 'no' }, 'create must be true or false, got "no"'],
    [{ readOnly: 'yes' }, 'readOnly must be true or false, got "yes"'],
    [{ ephemeral: 1 }, 'ephemeral must be true or false, got 1'],
    [{ readonly: true }, 'sqliteStore has no option "readonly"'],
    [{ toString: 1 }, 'sqliteStore has no option "toString"'],
  ])('refuses %o', (options, message) => {
    expect(() => checkOptions(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS', message }))
  })

  it('fills in the defaults, also for an option that is undefined', () => {
    const given: Record<string, undefined> = { create: undefined }
    expect(checkOptions(given)).toEqual({ create: true, readOnly: false, ephemeral: false, busyTimeoutMs: 5000 })
  })

  it.each(['', ':memory:', 'file:runs.db', 'FILE:///tmp/runs.db?mode=memory', 'a\0b'])('refuses the path %j', (path) => {
    expect(() => checkPath(path)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
  })

  it.each(['runs.db', './data/runs.db', '/var/lib/app/runs', 'C:\\app\\runs.db', ':memory:.db', 'with space ?#%.db'])('takes the path %j', (path) => {
    expect(checkPath(path)).toBe(path)
  })

  it('says where runs go that need not last, when asked for a database in memory', () => {
    expect(() => sqliteStore(':memory:')).toThrow('Use memoryStore()')
  })
})
