import { describe, expect, it } from 'vitest'
import { decode } from '../journal/codec.ts'
import { encodedError } from './outcome.ts'

class Problem {
  message = 'card declined'
  status = 402
  #secret = 'x'
  get code(): string {
    return this.#secret === 'x' ? 'declined' : ''
  }
  retry(): void {}
}

describe('what is thrown and is no error', () => {
  it('is recorded as it is, where it can be stored', () => {
    for (const thrown of [{ message: 'card declined', code: 'declined', list: [1n] }, 'no', 7, null, undefined, ['a']]) expect(decode(encodedError(thrown))).toEqual(thrown)
  })

  it.each<[string, unknown, object]>([
    ['with a method', { name: 'Declined', message: 'card declined', code: 'declined', status: 402, more: { at: new Date(0) }, retry() {} }, { name: 'Declined', message: 'card declined', code: 'declined', status: 402, more: { at: new Date(0) } }],
    ['of a class', new Problem(), { name: 'Error', message: 'card declined', code: 'declined', status: 402 }],
    ['of a class, inside of which nothing can be read', Object.create({ get message() { throw new Error('getter') } }), { name: 'Error', message: '[object Object]' }],
    ['with a getter that throws', { code: 'E', get status() { throw new Error('getter') }, fn() {} }, { name: 'Error', message: '[object Object]', code: 'E' }],
    ['with a key __proto__', Object.assign(JSON.parse('{"__proto__":{"x":1},"message":"m"}') as object, { fn() {} }), { name: 'Error', message: 'm' }],
    ['a Proxy', new Proxy({ message: 'm' }, {}), { name: 'Error', message: '[object Object]' }],
    ['a function', Object.assign(() => 1, { code: 'E' }), { name: 'Error', message: '() => 1' }],
  ])('is an error with its name, message, code, status and what else can be stored: %s', (_, thrown, expected) => {
    const error = decode(encodedError(thrown)) as Error
    expect(error).toBeInstanceOf(Error)
    expect({ ...error, name: error.name, message: error.message }).toEqual(expected)
  })
})
