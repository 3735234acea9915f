import { describe, expect, it } from 'vitest'
import { messageOf, readable } from './readable.ts'

const no = (): never => {
  throw new Error('gone')
}

describe('what was thrown', () => {
  it.each<readonly [string, unknown]>([
    ['an error', new TypeError('wrong')], ['a text', 'ECONNRESET'], ['undefined', undefined], ['null', null], ['a number', 7], ['a symbol', Symbol('x')], ['a function', () => 1],
    ['an object without a prototype', Object.assign(Object.create(null), { code: 'ECONNRESET' })], ['an object that has no text', { toString: no }],
  ])('is left as it is: %s', (_what, thrown) => {
    expect(readable(thrown, 'tool "x"')).toBe(thrown)
    expect(typeof messageOf(thrown)).toBe('string')
  })

  it.each<readonly [string, unknown]>([
    ['a Proxy that gives nothing', new Proxy({}, { get: no })],
    ['a Proxy of an error', new Proxy(new Error('x'), { get: no })],
    ['a Proxy that cannot be asked what it has', new Proxy({}, { has: no })],
    ['a Proxy that cannot be asked what it is', new Proxy({}, { getPrototypeOf: no })],
    ['a Proxy that was revoked', ((): unknown => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()],
    ['an error whose message cannot be read', Object.defineProperty(new Error('x'), 'message', { get: no })],
  ])('is replaced by an error that says so: %s', (_what, thrown) => {
    expect(readable(thrown, 'tool "x"')).toMatchObject({ code: 'STEP_FAILED', message: 'tool "x" threw a value that cannot be read' })
  })
})
