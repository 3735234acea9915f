/** What it costs to make a value storable and to make it again, beside JSON (which loses types) and beside devalue alone. */
import { parse, stringify } from 'devalue'
import { decode, encode } from '../src/journal/codec.ts'
import { Secrets } from '../src/journal/secrets.ts'

export interface ValueRow {
  readonly what: string
  /** Microseconds for one value, to text and back. */
  readonly us: number
  /** Beside JSON.stringify and JSON.parse; absent: JSON cannot hold it. */
  readonly besideJson?: number
  /** Beside stringify and parse of devalue. */
  readonly besideDevalue: number
  /** Bytes of the text, beside those of JSON, or of devalue. */
  readonly bytesRatio: number
}

const text = 'the quick brown fox jumps over the lazy dog, '.repeat(22)

const VALUES: Readonly<Record<string, () => unknown>> = {
  'a text of 1 KB': () => text,
  'an object of 1 KB': () => ({ order: 7, items: Array.from({ length: 12 }, (_, i) => ({ id: i, name: `item ${i}`, price: i * 1.5, tags: ['a', 'b'] })) }),
  'a list of 1,000 rows': () => Array.from({ length: 1_000 }, (_, i) => ({ id: i, name: `customer ${i}`, email: `c${i}@example.test`, active: i % 2 === 0 })),
  'a model response': () => ({ as: 'result', result: { content: [{ type: 'text', text }], finishReason: { unified: 'stop', raw: undefined }, warnings: [], response: { id: 'r', timestamp: new Date(0) } } }),
  'Dates, a Map and a Set': () => ({ at: [new Date(0), new Date(1)], map: new Map(Array.from({ length: 20 }, (_, i) => [i, `${i}`])), set: new Set(['a', 'b']) }),
  'bytes, 64 KB': () => new Uint8Array(65_536).fill(7),
}

/** Microseconds, the quickest of several rounds: the others were disturbed. */
function timeOf(work: () => unknown): number {
  let best = Infinity
  let times = 1
  for (let round = 0; round < 12; round++) {
    const began = performance.now()
    for (let i = 0; i < times; i++) work()
    const us = ((performance.now() - began) * 1_000) / times
    if (round === 0) times = Math.max(1, Math.min(5_000, Math.round(10_000 / us)))
    else best = Math.min(best, us)
  }
  return best
}

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const ours = (value: unknown): unknown => decode(JSON.parse(JSON.stringify(encode(value))))

const holdsInJson = (value: unknown): boolean => 'json' in encode(value)

export function valueRows(): ValueRow[] {
  return Object.entries(VALUES).map(([what, make]) => {
    const value = make()
    const us = timeOf(() => ours(value))
    const plain = holdsInJson(value)
    const beside = plain ? JSON.stringify(value) : stringify(value)
    return {
      what, us,
      ...(plain && { besideJson: us / timeOf(() => throughJson(value)) }),
      besideDevalue: us / timeOf(() => parse(stringify(value))),
      bytesRatio: JSON.stringify(encode(value)).length / beside.length,
    }
  })
}

/** Names of secrets in place of values: a record that holds one, and one that holds none, beside the record without secrets. */
export function secretRows(): readonly { readonly what: string; readonly us: number; readonly beside: number }[] {
  const secrets = Secrets.of(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`KEY_${i}`, `sk_live_${i}_4eC39HqLyjWDarjtT1`])))!
  const record = (note: string): object => ({ type: 'step-ended', outcome: { type: 'value', value: encode({ note, text }) } })
  const without = record('nothing')
  const plain = timeOf(() => JSON.stringify(without))
  return Object.entries({ 'a record without any of 10 secrets': without, 'a record with one of them': record('Bearer sk_live_3_4eC39HqLyjWDarjtT1') })
    .map(([what, one]) => [what, timeOf(() => secrets.seal(one))] as const)
    .map(([what, us]) => ({ what, us, beside: us / plain }))
}

export function valueLines(): string {
  const times = (ratio: number | undefined): string => (ratio === undefined ? '-' : `${ratio.toFixed(1)} x`).padStart(8)
  const rows = valueRows().map(({ what, us, besideJson, besideDevalue, bytesRatio }) =>
    `  ${what.padEnd(42)} ${us.toFixed(1).padStart(8)} us ${times(besideJson)} JSON ${times(besideDevalue)} devalue  ${bytesRatio.toFixed(2)} x the bytes`)
  const secrets = secretRows().map(({ what, us, beside }) => `  ${what.padEnd(42)} ${us.toFixed(1).padStart(8)} us ${times(beside)} JSON.stringify`)
  return `${['values, to text and back', ...rows, 'secrets, to text', ...secrets].join('\n')}\n`
}
