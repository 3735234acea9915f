import { APICallError } from '@ai-sdk/provider'
import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { decode, encode } from './codec.ts'
import { fingerprint } from './fingerprint.ts'

/** Live and replayed in one: an error that went through the text which a store keeps. */
function replayed<T>(value: T): T {
  return decode(JSON.parse(JSON.stringify(encode(value)))) as T
}

class QuotaError extends RangeError {
  override name = 'QuotaError'
  limit = { max: 3, at: new Date(0) }
}

describe('an error comes back', () => {
  it.each<[string, Error]>([
    ['a plain one', new Error('exactly: this\n\ud800')],
    ['without a message', new Error()],
    ['a TypeError', new TypeError('t')],
    ['a DOMException', new DOMException('The operation timed out', 'TimeoutError')],
    ['a class of the user', new QuotaError('q')],
    ['with a name set from outside', Object.assign(new Error('m'), { name: 'X' })],
  ])('with name and message exactly: %s', (_, error) => {
    const back = replayed(error)
    expect(back).toBeInstanceOf(Error)
    expect([back.name, back.message, String(back)]).toEqual([error.name, error.message, String(error)])
  })

  it('as the built-in class that it is or extends', () => {
    expect(replayed(new QuotaError('q'))).toBeInstanceOf(RangeError)
    expect(replayed(new SyntaxError('s')).constructor).toBe(SyntaxError)
  })

  it('with code and its other own data', () => {
    const back = replayed(Object.assign(new QuotaError('q'), { code: 'E_QUOTA', nothing: undefined, __proto: 1 }))
    expect(back).toMatchObject({ code: 'E_QUOTA', limit: { max: 3, at: new Date(0) } })
    expect(Object.keys(back).sort()).toEqual(['__proto', 'code', 'limit', 'nothing'])
  })

  it.each<[string, (error: HoldfastError) => unknown]>([
    ['a number for its code', (error) => Object.assign(error, { code: 500 })],
    ['no code', (error) => Reflect.deleteProperty(error, 'code')],
    ['a code that is not enumerable', (error) => Object.defineProperty(error, 'code', { enumerable: false })],
    ['a code that throws', (error) => Object.defineProperty(error, 'code', { get: () => { throw new Error('no') } })],
  ])('as an error of its own where it was one of Holdfast and was given %s', (_, change) => {
    const error = new HoldfastError('STEP_FAILED', 'it failed', { step: '0' })
    change(error)
    const back = replayed(error)
    expect(back).toMatchObject({ name: 'HoldfastError', message: 'it failed', step: '0' })
    expect(HoldfastError.isInstance(back)).toBe(false)
  })

  it.each<[string, () => Error]>([['a plain one', () => new Error('declined')], ['one of Holdfast', () => new HoldfastError('STEP_FAILED', 'declined')]])('with a property __proto__, and the others beside it: %s', (_, make) => {
    const error = Object.assign(make(), { reason: 'limit' })
    Object.defineProperty(error, '__proto__', { value: { x: 1 }, enumerable: true, configurable: true, writable: true })
    const back = replayed({ ok: true, failures: [error] }).failures[0]!
    expect(Object.getOwnPropertyDescriptor(back, '__proto__')?.value).toEqual({ x: 1 })
    expect([back, HoldfastError.isInstance(back)]).toEqual([expect.objectContaining({ message: 'declined', reason: 'limit' }), HoldfastError.isInstance(error)])
  })

  it('with its cause, whatever it is, and its errors', () => {
    const root = new Error('root', { cause: { status: 500n } })
    const back = replayed(new AggregateError([new TypeError('one'), 'two'], 'all', { cause: root }))
    expect(back).toBeInstanceOf(AggregateError)
    expect(back.errors).toEqual([new TypeError('one'), 'two'])
    expect((back.cause as Error).cause).toEqual({ status: 500n })
    expect(Object.keys(back)).toEqual([])
    expect('cause' in replayed(new Error('none'))).toBe(false)
    expect(replayed(new Error('x', { cause: undefined }))).toHaveProperty('cause', undefined)
  })

  it('with those of its errors that can be stored, and in place of the others what they are; so does its fingerprint', () => {
    class Client {}
    const error = new AggregateError([new Error('a'), Object.assign(new Error('b'), { f() {} }), () => 1, new Client(), { f() {} }, undefined, 7n], 'all')
    const back = replayed({ error }).error
    expect(back.errors).toEqual([new Error('a'), new Error('b'), '[function]', '[Client]', '[Object]', undefined, 7n])
    expect(fingerprint(error)).toBe(fingerprint(back))
    const self = new AggregateError([new Error('a')], 'self')
    self.errors.push(self)
    expect(replayed([self, self])[1]!.errors).toEqual([new Error('a'), '[AggregateError]'])
  })

  it('with the two errors that a SuppressedError is made of', () => {
    const error = Object.assign(new Error('both'), { name: 'SuppressedError' })
    for (const [key, value] of [['error', new Error('close failed')], ['suppressed', new TypeError('card declined')]] as const) Object.defineProperty(error, key, { value, configurable: true, writable: true })
    const back = replayed(error) as Error & { readonly error: Error; readonly suppressed: Error }
    expect([back.name, back.error.message, back.suppressed, Object.keys(back)]).toEqual(['SuppressedError', 'close failed', new TypeError('card declined'), []])
  })

  it('without the stack of the process that threw it', () => {
    expect(replayed(new TypeError('t')).stack).toBe('TypeError: t')
    expect(JSON.stringify(encode(new Error('m')))).not.toContain('error-record.test')
  })

  it('without what cannot be stored, which never hides the error', () => {
    const error = Object.assign(new Error('m'), { server: createServer(), kept: [1], fn: () => {} })
    Object.assign(error, { self: error })
    Object.defineProperty(error, 'bad', { get() { throw new Error('getter') }, enumerable: true })
    const back = replayed(error)
    expect(back.message).toBe('m')
    expect(Object.keys(back)).toEqual(['kept'])
  })

  it('without what has a symbol for its key, but for the marks: registered ones that are true', () => {
    const error = Object.assign(new Error('m'), {
      kept: 1, refused: { [Symbol('s')]: 1 }, [Symbol('own')]: 'x', [Symbol('flag')]: true, [Symbol.for('app.note')]: 'x', [Symbol.for('app.off')]: false, [Symbol.for('app.on')]: true,
    })
    Object.defineProperty(error, Symbol.for('app.bad'), { get() { throw new Error('getter') }, enumerable: true })
    const back = replayed(error)
    expect([Object.keys(back), Object.getOwnPropertySymbols(back)]).toEqual([['kept'], [Symbol.for('app.on')]])
    expect(replayed(back)).toEqual(back)
    expect(Object.getOwnPropertySymbols(replayed(Object.assign(new TypeError('one of its causes'), { cause: error })).cause as Error)).toEqual([Symbol.for('app.on')])
  })

  it('leaves no trace of what was left out', () => {
    const error = new Error('m')
    const other = { back: error }
    Object.assign(error, { other })
    const back = replayed({ error, other })
    expect(Object.keys(back.error)).toEqual([])
    expect(back.other.back).toBe(back.error)
  })

  it('with an unreadable name or message as an Error without one', () => {
    const error = Object.defineProperty(new Error('m'), 'message', { get() { throw new Error('getter') } })
    expect(replayed(error).message).toBe('')
    expect(replayed(Object.assign(new Error('m'), { name: 7 })).name).toBe('Error')
  })
})

describe("errors that are known by a mark are known again", () => {
  it('of the AI SDK', () => {
    const error = new APICallError({ message: 'Overloaded', url: 'https://x', requestBodyValues: {}, statusCode: 529, isRetryable: true })
    const back = replayed(error)
    expect(APICallError.isInstance(back)).toBe(true)
    expect(back).toMatchObject({ name: 'AI_APICallError', message: 'Overloaded', statusCode: 529, isRetryable: true })
  })

  it('of Holdfast, as HoldfastError, with its advice once', () => {
    const error = new HoldfastError('STEP_TIMEOUT', 'search took too long', { advice: 'Raise toolMs', runId: 'r', step: 's', cause: new Error('c') })
    const back = replayed(error)
    expect(back).toBeInstanceOf(HoldfastError)
    expect(back.message).toBe('search took too long. Raise toolMs')
    expect(back).toMatchObject({ code: 'STEP_TIMEOUT', advice: 'Raise toolMs', runId: 'r', step: 's', name: 'HoldfastError' })
    expect((back.cause as Error).message).toBe('c')
    expect(replayed(back)).toEqual(back)
  })

  it('a subclass of HoldfastError keeps its name and fields', () => {
    class RunMismatchError extends HoldfastError {
      override readonly name = 'RunMismatchError'
      readonly changed = ['version']
    }
    const back = replayed(new RunMismatchError('RUN_MISMATCH', 'm'))
    expect(HoldfastError.isInstance(back)).toBe(true)
    expect(back).toMatchObject({ name: 'RunMismatchError', code: 'RUN_MISMATCH', changed: ['version'] })
  })

  it('with the headers and the response that an HTTP client put on it, as data (A18)', () => {
    const headers = new Headers({ 'Retry-After': '7' })
    const back = replayed(Object.assign(new Error('429'), { headers, response: new Response('slow down', { status: 429, statusText: 'Too Many Requests', headers }) }))
    expect(back).toMatchObject({ headers: { 'retry-after': '7' }, response: { status: 429, statusText: 'Too Many Requests', headers: { 'retry-after': '7' } } })
  })
})
