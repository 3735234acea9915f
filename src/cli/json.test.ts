import { expect, it } from 'vitest'
import { jsonLine, jsonText, jsonValue } from './json.ts'

it.each<[unknown, unknown]>([
  [undefined, null],
  [{ a: undefined, b: [undefined] }, { a: null, b: [null] }],
  [12n, '12'],
  [[Number.NaN, Number.POSITIVE_INFINITY, 1.5], ['NaN', 'Infinity', 1.5]],
  [new Date(0), '1970-01-01T00:00:00.000Z'],
  [new Date(Number.NaN), 'Invalid Date'],
  [new URL('https://a.example/b'), 'https://a.example/b'],
  [/a+/g, '/a+/g'],
  [new Map([['a', 1n]]), [['a', '1']]],
  [new Set([1, 2]), [1, 2]],
  [new Uint8Array([1, 2]), [1, 2]],
  [new BigInt64Array([3n]), ['3']],
  [new Uint8Array([4]).buffer, [4]],
  [new DataView(new Uint8Array([5]).buffer), [5]],
  [new TypeError('no', { cause: new Error('why') }), { name: 'TypeError', message: 'no', cause: { name: 'Error', message: 'why' } }],
  [Object.assign(new Error('x'), { code: 'ECONNRESET' }), { name: 'Error', message: 'x', code: 'ECONNRESET' }],
  [() => {}, '[function]'],
])('%o becomes %j', (value, json) => {
  expect(jsonValue(value)).toEqual(json)
})

it('names a cycle, and shows twice what is only shared', () => {
  const shared = { a: 1 }
  const cyclic: Record<string, unknown> = { one: shared, two: shared }
  cyclic['self'] = cyclic
  expect(jsonValue(cyclic)).toEqual({ one: { a: 1 }, two: { a: 1 }, self: '[cycle]' })
})

it('keeps a key __proto__ as data', () => {
  expect(jsonLine(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}\n')
})

it('prints nothing that a terminal would act upon, and the same value', () => {
  const value = { 'k\u009b': '\u001b[2J\u202e\u007f\nx' }
  const text = jsonText(value) + jsonLine(value)
  expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
  expect(JSON.parse(jsonLine(value))).toEqual(value)
})

it('comes to an end with what is endless as JSON: a list of holes, parts that share parts', () => {
  const holes: unknown[] = []
  holes.length = 2 ** 32 - 1
  let shared: unknown = ['leaf']
  for (let i = 0; i < 60; i++) shared = [shared, shared]
  expect((jsonValue(holes) as unknown[]).at(-1)).toBe('[more]')
  expect((jsonValue(shared) as unknown[]).flat(60).at(-1)).toBe('[more]')
})

it('cuts nothing that a value has itself, nor what stands behind it, however much it is', () => {
  const holes: unknown[] = [1]
  holes.length = 2 ** 32 - 1
  const document = { holes, bytes: new Uint8Array(1000).fill(7), lists: Array.from({ length: 1000 }, (_, i) => [i]), status: 'completed' }
  const { bytes, lists, status } = jsonValue(document) as { bytes: number[]; lists: number[][]; status: string }
  expect([bytes.length, bytes.at(-1), lists.length, lists.at(-1), status]).toEqual([1000, 7, 1000, [999], 'completed'])
})
