import { describe, expect, it } from 'vitest'
import { encodedFault } from './encoded.ts'
import type { Entry } from './entry.ts'
import { EVERY_MESSAGE, everyEntry } from './fixtures/every-entry.ts'
import { entryFault, messageFault } from './schema.ts'

const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const ENTRIES = written(everyEntry('r1')) as Entry[]
const first = (type: Entry['type']): Record<string, unknown> => ENTRIES.find((entry) => entry.type === type) as unknown as Record<string, unknown>

/** Every change of one place of plain data: the value replaced by something of another type, or removed. */
function* variations(value: unknown, path = ''): Generator<[path: string, change: unknown]> {
  for (const other of [null, true, 0.5, -1, 'other', [], {}]) if (JSON.stringify(other) !== JSON.stringify(value)) yield [path, other]
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (!Array.isArray(value)) yield [`${path}.${key}`, Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))]
    for (const [place, change] of variations(item, `${path}.${key}`)) yield [place, Array.isArray(value) ? value.with(Number(key), change) : { ...value, [key]: change }]
  }
}

describe('the schema of entries', () => {
  it.each([...new Set(ENTRIES.map(({ type }) => type))])('takes %s as it is written', (type) => {
    for (const entry of ENTRIES) if (entry.type === type) expect(entryFault(entry, encodedFault)).toBeUndefined()
  })

  it('says of every change that it refuses where it is, and never fails itself', () => {
    let refused = 0
    for (const entry of ENTRIES) {
      for (const [, change] of variations(entry)) {
        const fault = entryFault(change, encodedFault)
        if (fault === undefined) continue
        expect(fault).toMatch(/^[a-z].*( is | has | was | refers | cannot )/i)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(2_000)
  })

  it.each<[string, unknown, string]>([
    ['a list', [1], 'it is a list, not an object'],
    ['no type', { at: 1 }, 'type is missing, not one of run-created, '],
    ['an unknown type', { ...first('config'), type: 'confg' }, 'type is "confg", not one of'],
    ['a type that every object has', { ...first('config'), type: 'toString' }, 'type is "toString", not one of'],
    ['no time', { ...first('config'), at: null }, 'at is null, not a number'],
    ['a kind that does not exist', { ...first('step-ended'), step: { ...(first('step-ended')['step'] as object), kind: 'toool' } }, 'step.kind is "toool", not one of model'],
    ['a list of something else', { ...first('consumed'), effects: ['a', 7] }, 'effects[1] is 7, not a text'],
    ['a map of something else', { ...first('config'), parts: { 'tool a': 7 } }, 'parts["tool a"] is 7, not a text'],
    ['an outcome without its value', { ...first('step-ended'), outcome: { type: 'value' } }, 'outcome.value is missing, not an encoded value'],
    ['a value with two codecs', { ...first('run-created'), input: { json: 1, devalue: 1 } }, 'input is an object with 2 fields, not an encoded value'],
    ['a position below zero', { ...first('step-ended'), low: -1 }, 'low is -1, not a whole number from 0'],
    ['a very long text where none belongs', { ...first('suspended'), reasons: 'x'.repeat(500) }, 'reasons is "xxx'],
  ])('names the field of %s', (_, entry, words) => {
    const fault = entryFault(entry)
    expect(fault).toContain(words)
    expect(fault!.length).toBeLessThan(400)
  })

  it('leaves alone what it does not know beside the fields of a type, within a format', () => {
    expect(entryFault({ ...first('config'), note: { from: 'a later build' } })).toBeUndefined()
  })

  it('takes no limit of a run that no call can give', () => {
    const started = first('attempt-started')
    for (const limit of ['maxSteps', 'maxTokens', 'maxJournalBytes', 'runMs']) {
      for (const wrong of [-5, 0, ...(limit === 'runMs' ? [] : [1.5])]) expect(entryFault({ ...started, limits: { [limit]: wrong } })).toMatch(new RegExp(`^limits\\.${limit} is ${wrong}, not a (whole )?number`))
      for (const right of [1, null]) expect(entryFault({ ...started, limits: { [limit]: right } })).toBeUndefined()
    }
  })

  it('does not take what stands on a prototype for a field', () => {
    const { digest: _, ...rest } = first('config')
    expect(entryFault(JSON.parse(`{"__proto__":{"digest":"d"},${JSON.stringify(rest).slice(1)}`))).toBe('digest is missing, not a text')
  })
})

describe('the schema of messages', () => {
  it.each(EVERY_MESSAGE.map((message) => [message.type, message]))('takes %s as it is sent, and names what is missing', (_, message) => {
    expect(messageFault(written(message), encodedFault)).toBeUndefined()
    for (const key of Object.keys(message)) {
      const { [key]: _gone, ...rest } = message as unknown as Record<string, unknown>
      expect(messageFault(rest)).toMatch(new RegExp(`^${key} is missing`))
    }
  })
})

describe('a value that was read', () => {
  const deep = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
  it.each<[string, unknown, string | undefined]>([
    ['500 levels', { json: deep(500) }, undefined],
    ['501 levels', { json: deep(501) }, 'v is nested deeper than 500 levels'],
    ['100,000 levels', { json: deep(100_000) }, 'v is nested deeper than 500 levels'],
    ['an unknown codec', { yaml: 'a: 1' }, 'v was written by an unknown codec: yaml'],
    ['an unknown type', { devalue: [{ a: 1 }, ['Money', 2], 7] }, 'v.a has the unknown type "Money"'],
    ['a number that stands for nothing', { devalue: 7 }, 'v cannot be decoded: 7 stands for nothing'],
    ['a reference to nothing', { devalue: [{ a: 9 }] }, 'v refers to a part that does not exist'],
    ['a part that contains itself', { devalue: [{ a: 1 }, [0]] }, 'v refers back to what contains it'],
    ['parts that refer to each other for ever', { devalue: [{ a: 1 }, ['Map', 2, 2], ['Set', 1]] }, 'v.a refers back to what contains it'],
    ['a chain of 100,000 parts', { devalue: Array.from({ length: 100_000 }, (_, i) => (i < 99_999 ? [i + 1] : 0)) }, 'v is nested too deep'],
    ['a part that many share', { devalue: [[1, 1, 1], ['Date', '1970-01-01T00:00:00.000Z']] }, undefined],
  ])('%s', (_, encoded, fault) => {
    expect(encodedFault(encoded, 'v')).toBe(fault)
  })
})
