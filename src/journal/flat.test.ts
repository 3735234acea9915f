import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { decode } from './codec.ts'
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
  ['a typed array over no buffer', { devalue: [['Uint8Array', 1], 1_000_000_000] }, 'result cannot be decoded'],
  ['broken base64, broken URL', { devalue: [['URL', 'nowhere']] }, 'result cannot be decoded'],
  ['an error without message', { devalue: [['Error', 1], { name: 2 }, 'x'] }, 'result cannot be decoded'],
  ['an error that is no object', { devalue: [['Error', -1]] }, 'result cannot be decoded'],
  ['entries that are none', { devalue: [['Entries', 1], 5] }, 'result cannot be decoded'],
  ['__proto__ where devalue has none', { devalue: [JSON.parse('{"__proto__":1}'), 1] }, 'result cannot be decoded'],
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
