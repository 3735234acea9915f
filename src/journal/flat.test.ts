import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { decode } from './codec.ts'
import { encodedFault } from './encoded.ts'
import { MAX_DEPTH } from './json.ts'

let deep: unknown = 1
for (let i = 0; i < MAX_DEPTH + 1; i++) deep = [deep]

const rows: [string, unknown, string][] = [
  ['no codec', null, 'result was written by an unknown codec: none'],
  ['a list', [1], 'result was written by an unknown codec: none'],
  ['an unknown codec', { msgpack: 'x' }, 'result was written by an unknown codec: msgpack'],
  ['two codecs', { json: 1, devalue: [1] }, 'result was written by an unknown codec: { json, devalue }'],
  ['an unknown type', { devalue: [{ items: 1 }, [2, 3], 'x', ['Temporal.Instant', '2020-01-01T00:00:00Z']] },
    'result.items[1] has the unknown type "Temporal.Instant"'],
  ['a type of devalue outside the closed set', { devalue: [['Object', 1], 'boxed'] }, 'result has the unknown type "Object"'],
  ['an unknown type in a Map, a Set, an Error', { devalue: [['Map', 1, 2], 'k', ['Set', 3], ['Error', 4], { name: 5, message: 5, own: 6 }, 'x', ['Wat', 1]] },
    'result.values()[0].values()[0].own has the unknown type "Wat"'],
  ['an unknown type that nothing refers to', { devalue: [1, ['Wat', 1]] }, 'has the unknown type "Wat"'],
  ['a reference beyond the end', { devalue: [{ a: 7 }] }, 'result refers to a part that does not exist'],
  ['a reference that is no number', { devalue: [[null]] }, 'result refers to a part that does not exist'],
  ['a hole outside an array', { devalue: [{ a: -2 }] }, 'result refers to a part that does not exist'],
  ['no parts', { devalue: [] }, "result is not in devalue's form"],
  ['a text', { devalue: '[1]' }, "result is not in devalue's form"],
  ['a number without meaning', { devalue: 7 }, 'result cannot be decoded'],
  ['a typed array over no buffer', { devalue: [['Uint8Array', 1], 1_000_000_000] }, 'result is no Uint8Array'],
  ['a typed array over half an element', { devalue: [{ a: 1 }, ['Float64Array', 2], ['ArrayBuffer', 'AAAA']] }, 'result.a is no Float64Array'],
  ['a typed array over a part of a buffer', { devalue: [['Uint8Array', 1, 1], ['ArrayBuffer', 'AAAA']] }, 'result is no Uint8Array'],
  ['broken base64', { devalue: [['ArrayBuffer', '!!']] }, 'result is no ArrayBuffer'],
  ['a broken URL', { devalue: [['URL', 'nowhere']] }, 'result is no URL'],
  ['a broken RegExp', { devalue: [[1], ['RegExp', '(']] }, 'result[0] is no RegExp'],
  ['a RegExp with broken flags', { devalue: [['RegExp', 'a', 'gg']] }, 'result is no RegExp'],
  ['a Date that is another text', { devalue: [['Date', 'rubbish']] }, 'result is no Date'],
  ['a Date in another form', { devalue: [['Date', '2026-11-29']] }, 'result is no Date'],
  ['a broken BigInt', { devalue: [['BigInt', '1e3']] }, 'result is no BigInt'],
  ['a key of a Map without its value', { devalue: [['Map', 1], 'k'] }, 'result is no Map'],
  ['more holes than a list can have', { devalue: [[-7, 2 ** 33, 0, 1], 'x'] }, 'result is no list with holes'],
  ['an item behind the end of a list', { devalue: [[-7, 2, 5, 1], 'x'] }, 'result is no list with holes'],
  ['an error without message', { devalue: [['Error', 1], { name: 2 }, 'x'] }, 'result is no Error'],
  ['an error whose message is no text', { devalue: [['Error', 1], { name: 2, message: 3 }, 'x', 7] }, 'result is no Error'],
  ['an error of Holdfast without its code', { devalue: [['Error', 1], { name: 2, message: 2, marks: 3 }, 'x', [4], 'holdfast.error'] }, 'result is no Error'],
  ['an error that is no object', { devalue: [['Error', -1]] }, 'result is no Error'],
  ['entries that are none', { devalue: [['Entries', 1], 5] }, 'result is no Entries'],
  ['entries without a key', { devalue: [['Entries', 1], [2], [3, 3], 7] }, 'result is no Entries'],
  ['__proto__ where devalue has none', { devalue: [JSON.parse('{"__proto__":1}'), 1] }, 'result has a key that such an object cannot have'],
  ['a number that JSON does not have', { devalue: [{ a: 1 }, JSON.parse('1e999')] }, 'result.a is no number'],
  ['JSON nested too deep', { json: deep }, 'result cannot be decoded'],
]

describe('what is read back fails closed, with the path', () => {
  it.each(rows)('%s', (_, encoded, message) => {
    let error: unknown
    try {
      decode(encoded, 'result')
    } catch (thrown) {
      error = thrown
    }
    expect(HoldfastError.isInstance(error) && error.code).toBe('STORE_CORRUPT')
    expect((error as Error).message).toContain(message)
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('what a journal lets pass can be decoded: a run is not begun with a value that fails only where it is used', () => {
  it.each(rows.slice(4))('%s', (_, encoded, message) => {
    expect(encodedFault(encoded, 'result')).toContain(message.startsWith('result cannot be decoded') ? 'result' : message)
  })

  it('a number that JSON does not have', () => {
    expect(encodedFault(JSON.parse('{"json":{"a":[1e999]}}'), 'input')).toBe('input holds a number that JSON does not have')
  })

  it('but not a URL or RegExp that holds the name of a secret: it is judged when it is whole', () => {
    const value = { devalue: [[1, 2], ['URL', 'https://{{secret:HOST}}/'], ['RegExp', '({{secret:A}}']] }
    expect(encodedFault(value, 'input', '{{secret:')).toBeUndefined()
    expect(encodedFault(value, 'input', '{{secret-2:')).toBe('input[0] is no URL')
    expect(encodedFault(value, 'input')).toBe('input[0] is no URL')
  })
})
