import { describe, expect, it, vi } from 'vitest'
import { hash } from '../core/hash.ts'
import { HoldfastError } from '../errors.ts'
import { START, link, unlink, type Tip } from './chain.ts'
import { FORMAT, type Entry } from './entry.ts'
import type { StoredEntry } from './store.ts'

const created: Entry = { type: 'run-created', at: 1, format: FORMAT, runId: 'r1', agent: 'desk', version: '1', input: { json: 'hello' } }
const config = (digest: string): Entry => ({ type: 'config', at: 2, digest, parts: {} })

function chained(entries: readonly unknown[], tip: Tip = START): StoredEntry[] {
  return entries.map((entry) => (tip = link(tip, entry as Entry)) as StoredEntry)
}
const journal = (): StoredEntry[] => chained([created, config('a'), config('b'), config('c')])
const changed = (i: number, change: Partial<StoredEntry>): StoredEntry[] => journal().map((row, n) => (n === i ? { ...row, ...change } : row))

function failure(stored: readonly StoredEntry[], tip?: Tip): HoldfastError {
  try {
    unlink('r1', stored, tip)
  } catch (error) {
    if (HoldfastError.isInstance(error)) return error
  }
  throw new Error('it was read')
}

describe('the chain', () => {
  it('gives back what was linked, with its places, and where to go on', () => {
    const stored = journal()
    const { entries, tip } = unlink('r1', stored)
    expect(entries).toEqual([created, config('a'), config('b'), config('c')].map((entry, i) => ({ seq: i + 1, entry })))
    expect(tip).toEqual({ seq: 4, sum: stored[3]!.sum, format: FORMAT })
  })

  it('goes on from any place', () => {
    const stored = journal()
    const { tip } = unlink('r1', stored.slice(0, 2))
    expect(unlink('r1', stored.slice(2), tip).entries.map(({ seq }) => seq)).toEqual([3, 4])
    expect(chained([config('b')], tip)[0]).toEqual(stored[2])
  })

  it('is nothing for nothing', () => {
    expect(unlink('r1', [])).toEqual({ entries: [], tip: START })
  })

  it('writes text without NUL and lone surrogates, and reads them back', () => {
    const [row] = chained([{ ...created, agent: 'a\u0000\ud800' }])
    expect(row!.body.isWellFormed()).toBe(true)
    expect(row!.body).not.toContain('\u0000')
    expect(unlink('r1', [row!]).entries[0]!.entry).toMatchObject({ agent: 'a\u0000\ud800' })
  })

  it('says of an entry that is longer than a text can be that it is too large', () => {
    const stringify = vi.spyOn(JSON, 'stringify').mockImplementationOnce(() => { throw new RangeError('Invalid string length') })
    try {
      expect(() => link(START, created)).toThrow(expect.objectContaining({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(/^the entry "run-created" takes more bytes than a text can hold/) }))
    } finally {
      stringify.mockRestore()
    }
  })

  it('finds every single character that was changed', () => {
    const stored = journal()
    const body = stored[2]!.body
    for (let i = 0; i < body.length; i++) {
      const flipped = body.slice(0, i) + String.fromCharCode(body.charCodeAt(i) ^ 1) + body.slice(i + 1)
      expect(failure(changed(2, { body: flipped }))).toMatchObject({ code: 'STORE_CORRUPT', runId: 'r1', message: expect.stringContaining('damaged at entry 3') })
    }
  })

  const [one, two, three, four] = journal() as [StoredEntry, StoredEntry, StoredEntry, StoredEntry]
  it.each<[string, StoredEntry[], Tip, string]>([
    ['a changed checksum', changed(1, { sum: hash('x') }), START, 'damaged at entry 2: its checksum does not match'],
    ['swapped rows', [one, three, two, four], START, 'damaged at entry 2: entry 3 stands there'],
    ['rows that were swapped and renumbered', [one, { ...three, seq: 2 }, { ...two, seq: 3 }, four], START, 'damaged at entry 2: its checksum'],
    ['a missing row', [one, three, four], START, 'damaged at entry 2: entry 3 stands there'],
    ['a missing row, the rest renumbered', [one, { ...three, seq: 2 }, { ...four, seq: 3 }], START, 'damaged at entry 2: its checksum'],
    ['a missing first row', [two, three], START, 'damaged at entry 1: entry 2 stands there'],
    ['a row that is there twice', [one, two, two], START, 'damaged at entry 3: entry 2 stands there'],
    ['rows that do not go on from the place', [four], { seq: 2, sum: two.sum }, 'damaged at entry 3'],
    ['another journal behind the place', chained([config('z')], { seq: 2, sum: 'other' }), { seq: 2, sum: two.sum }, 'damaged at entry 3: its checksum'],
    ['foreign text', [{ seq: 1, body: 'SQLite format 3', sum: hash('', 'SQLite format 3') }], START, 'damaged at entry 1: it is not an entry'],
    ['JSON that is no entry', [{ seq: 1, body: '[1]', sum: hash('', '[1]') }], START, 'damaged at entry 1: it is not an entry'],
    ['null', [{ seq: 1, body: 'null', sum: hash('', 'null') }], START, 'damaged at entry 1: it is not an entry'],
    ['a cut row', changed(3, { body: four.body.slice(0, -5) }), START, 'damaged at entry 4: its checksum'],
  ])('names the place of %s', (_, stored, tip, message) => {
    expect(failure(stored, tip)).toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining(message) })
  })

  it('refuses the format of a newer build, also where that reckons its checksums in another way', () => {
    const newer = { ...created, format: FORMAT + 1 }
    expect(failure(chained([newer, config('a')]))).toMatchObject({ code: 'STORE_NEWER', runId: 'r1', message: expect.stringContaining(`format ${FORMAT + 1}`) })
    expect(failure([{ seq: 1, body: JSON.stringify(newer), sum: 'blake3:0123' }])).toMatchObject({ code: 'STORE_NEWER' })
  })
})
