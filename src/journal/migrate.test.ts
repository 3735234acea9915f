/** The mechanism, tried with formats that never were: there is only one so far. */
import { describe, expect, it } from 'vitest'
import { hash } from '../core/hash.ts'
import { type Placed, unlink } from './chain.ts'
import { FORMAT } from './entry.ts'
import { chained, everyEntry } from './fixtures/every-entry.ts'
import { FORMATS, type Formats, migrated, type PlainEntry } from './migrate.ts'
import type { StoredEntry } from './store.ts'

/** As journals of any format are chained. */
function stored(entries: readonly object[]): StoredEntry[] {
  let sum = ''
  return entries.map((entry, i) => {
    const body = JSON.stringify(entry)
    sum = hash(sum, body)
    return { seq: i + 1, body, sum }
  })
}

/**
 * Three formats that were made up: in the first the creation named its agent `name` and had no version, in the second configurations
 * said `id`. The third is the one of this build.
 */
const formats: Formats = {
  newest: 3,
  migrations: [
    (entry) => {
      if (entry.type !== 'run-created') return entry
      const { name, ...rest } = entry
      return { ...rest, agent: name, version: '0' }
    },
    (entry, seq) => {
      if (entry.type !== 'config') return entry
      const { id, ...rest } = entry
      return { ...rest, digest: `${String(id)}@${seq}` }
    },
  ],
}
const created = { type: 'run-created', at: 1, runId: 'r1', input: { json: 1 } }
const attempt = (number: number, format?: number): object =>
  ({ type: 'attempt-started', at: 2, attempt: number, token: number, version: '0', former: 'none', ...(format !== undefined && { format }) })
const config = (key: 'id' | 'digest', value: string): object => ({ type: 'config', at: 3, [key]: value, parts: {} })

const read = (entries: readonly object[]): Placed[] => unlink('r1', stored(entries), undefined, formats).entries

describe('a journal of an older format', () => {
  it('is read as one of the newest, step by step, and what is stored stays as it was written', () => {
    const rows = stored([{ ...created, format: 1, name: 'desk' }, attempt(1), config('id', 'c')])
    const before = structuredClone(rows)
    expect(unlink('r1', rows, undefined, formats).entries.map(({ entry }) => entry)).toMatchObject([{ agent: 'desk', version: '0', format: 1 }, { attempt: 1 }, { digest: 'c@3' }])
    expect(rows).toEqual(before)
  })

  it('goes on in the newest from the attempt of a newer build on', () => {
    const entries = read([{ ...created, format: 1, name: 'desk' }, attempt(1), config('id', 'c'), attempt(2, 2), config('id', 'd'), attempt(3, 3), config('digest', 'e'), attempt(4)])
    expect(entries.flatMap(({ entry }) => (entry.type === 'config' ? [entry.digest] : []))).toEqual(['c@3', 'd@5', 'e'])
  })

  it('is read on from a place in it', () => {
    const rows = stored([{ ...created, format: 1, name: 'desk' }, attempt(1), config('id', 'c')])
    const { tip } = unlink('r1', rows.slice(0, 2), undefined, formats)
    expect(tip.format).toBe(1)
    expect(unlink('r1', rows.slice(2), tip, formats).entries[0]!.entry).toMatchObject({ digest: 'c@3' })
  })

  it('is checked against the schema as it is after its migration', () => {
    expect(() => read([{ ...created, format: 1, agent: 'desk' }])).toThrow('damaged at entry 1: agent is missing')
    expect(() => read([{ ...created, format: 3, agent: 'desk', version: '1' }, config('id', 'c')])).toThrow('damaged at entry 2: digest is missing')
  })

  it('is STORE_NEWER where a newer build went on with the run, and there the place is named', () => {
    expect(() => read([{ ...created, format: 1, name: 'desk' }, attempt(1), attempt(2, 4)]))
      .toThrow(expect.objectContaining({ code: 'STORE_NEWER', message: expect.stringContaining('entry 3 of run "r1": it was written in format 4, this build reads up to 3') }))
  })

  it.each([0, -1, 1.5, 3.5])('is damaged when no build ever wrote its format: %d', (format) => {
    expect(() => read([{ ...created, format, name: 'desk' }])).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT', message: expect.stringContaining(`there is no format ${format}`) }))
  })
})

describe('the migrations of this build', () => {
  it('lead from each format to the newest', () => {
    expect(FORMATS).toMatchObject({ newest: FORMAT, migrations: Array.from({ length: FORMAT - 1 }, () => expect.any(Function)) })
  })

  it('change nothing in the newest', () => {
    for (const { body, seq } of chained(everyEntry('r1'))) {
      const entry = JSON.parse(body) as PlainEntry
      expect(migrated(entry, seq, FORMAT)).toBe(entry)
    }
  })
})
