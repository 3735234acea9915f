/** docs/format.md says what is written: its example is checked by a reader made from the page alone, and no field is missing on it. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { unlink } from '../src/journal/chain.ts'
import { decode, type Encoded } from '../src/journal/codec.ts'
import { FORMAT } from '../src/journal/entry.ts'
import { EVERY_MESSAGE, everyEntry } from '../src/journal/fixtures/every-entry.ts'
import type { StoredEntry } from '../src/journal/store.ts'
import { APPLICATION_ID, FORMAT as LAYOUT, TABLES } from '../src/stores/sqlite/schema.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const page = read('docs/format.md')

/** The rows of the example. */
const EXAMPLE: StoredEntry[] = [...page.matchAll(/^(\d+) ([0-9a-f]{32}) (\{.*\})$/gm)].map(([, seq, sum, body]) => ({ seq: Number(seq), sum: sum!, body: body! }))

/** As the page says, and not by our own code. */
function sumOf(before: string, body: string): string {
  const bytes = Buffer.from(`${before.length}:${before}${body.length}:${body}`, 'utf8')
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

describe('the example of docs/format.md', () => {
  it('has the checksums that the page describes', () => {
    expect(EXAMPLE.length).toBeGreaterThan(4)
    expect(EXAMPLE.map(({ sum }) => sum)).toEqual(EXAMPLE.map(({ body }, i) => sumOf(EXAMPLE[i - 1]?.sum ?? '', body)))
  })

  it('is a journal that this build reads', () => {
    const entries = unlink('order-7', EXAMPLE).entries.map(({ entry }) => entry)
    expect(entries.map(({ type }) => type)).toEqual(['run-created', 'attempt-started', 'step-started', 'step-ended', 'run-ended', 'attempt-ended'])
    expect(entries.flatMap((entry) => (entry.type === 'step-ended' && entry.outcome.type === 'value' ? [decode(entry.outcome.value)] : [])))
      .toEqual([{ paid: 12n, at: new Date(Date.UTC(2026, 10, 29, 12)) }])
  })
})

/** Names of fields and quoted words of types in a source file, from `export type` and `export interface` on. */
function namesIn(source: string): string[] {
  const types = source.slice(source.indexOf('export type')).replaceAll(/\/\*\*[^]*?\*\//g, '').split('\n').filter((line) => !line.startsWith('import'))
  const text = types.filter((line) => !line.startsWith('export type WarningCode')).join('\n')
  return [...text.matchAll(/readonly (\w+)\??:/g), ...text.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!)
}

/** The first texts of the parts of every value in entries. */
function tagsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  if ('devalue' in value) return [(value as { devalue: unknown }).devalue].flat().flatMap((part) => (Array.isArray(part) && typeof part[0] === 'string' ? [part[0]] : []))
  return Object.values(value).flatMap(tagsIn)
}

const missing = (names: Iterable<string>): string[] => [...new Set(names)].filter((name) => !page.includes(`\`${name}\``) && !page.includes(`\`["${name}", `)).sort()

describe('docs/format.md', () => {
  it('names every type of entry and every field of src/journal/entry.ts and suspend-reason.ts', () => {
    const names = [...namesIn(read('src/journal/entry.ts')), ...namesIn(read('src/journal/suspend-reason.ts'))]
    expect(names).toEqual(expect.arrayContaining(['run-created', 'idempotencyKey', 'in-doubt', 'unrecorded']))
    expect(missing(names)).toEqual([])
  })

  it('names every message and its fields', () => {
    expect(missing(EVERY_MESSAGE.flatMap((message) => [message.type, ...Object.keys(message)]))).toEqual([])
  })

  it('names every type of value', () => {
    const tags = new Set(tagsIn(everyEntry('r1')))
    expect(tags.size).toBeGreaterThan(17)
    expect([...tags].filter((tag) => !page.includes(`["${tag}", `) && !page.includes(`\`${tag}\``))).toEqual([])
  })

  it('names every field of an error record', () => {
    expect(missing(namesIn(read('src/journal/error-record.ts').replace('export interface', 'export type').split('export class')[0]!))).toEqual([])
  })

  it('names every table and column, and the numbers of the file', () => {
    const columns = [...TABLES.matchAll(/^ {4}(\w+) +(?:INTEGER|TEXT|BLOB)/gm)].map(([, name]) => name!)
    expect(columns.length).toBe(21)
    expect(missing([...columns, ...[...TABLES.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name!)])).toEqual([])
    expect(page).toContain(`${APPLICATION_ID}, the letters`)
    expect(page).toContain(`the layout of the tables, ${LAYOUT};`)
    expect(page).toContain(`**format ${FORMAT}**`)
  })

  it('leaves nothing of an encoded value unsaid: its fields are the codecs', () => {
    const codecs: Record<keyof (Encoded & object) | 'json' | 'devalue', true> = { json: true, devalue: true }
    for (const codec of Object.keys(codecs)) expect(page).toContain(`\`{"${codec}": X}\``)
  })
})
