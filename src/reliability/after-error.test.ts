import { describe, expect, it } from 'vitest'
import { afterError, type AfterError } from './after-error.ts'
import { classifyError, createClassifier, type Classifier } from './classification/index.ts'

const error = (message: string, fields: object = {}): Error => Object.assign(new Error(message), fields)
const named = (name: string, message: string, fields: object = {}): Error => Object.defineProperty(error(message, fields), 'name', { value: name })
const thrownBy = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    return thrown
  }
}
const verdict = (value: unknown, classify: Classifier = classifyError): AfterError => afterError(value, classify(value), classify)
const reset = error('read ECONNRESET', { code: 'ECONNRESET' })

describe('what an error says about an effect: in doubt', () => {
  it.each<readonly [string, unknown]>([
    ['a connection that broke', reset],
    ['a time that was over', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['an abort of its own making', new DOMException('This operation was aborted', 'AbortError')],
    ['a 502', error('x', { status: 502 })],
    ['an overload', error('x', { status: 529 })],
    ['a body that was cut', thrownBy('{"id":"re_')],
    ['no body at all', thrownBy('')],
    ['a page in place of an answer', thrownBy('<html>502')],
    ['one that is not JSON, of node-fetch', named('FetchError', 'invalid json response body at https://x/ reason: Unexpected token <', { type: 'invalid-json' })],
    ['the same, of got', named('ParseError', 'Unexpected token < in "https://x/"', { code: 'ERR_BODY_PARSE_FAILURE' })],
    ['a body that does not inflate', error('unexpected end of file', { code: 'Z_BUF_ERROR', errno: -5 })],
    ['an unreadable body behind words of its own', new Error('refund failed', { cause: thrownBy('<html>') })],
    ['several failures, one of them a doubt', new AggregateError([error('declined'), reset], 'all failed')],
    ['a last try that says "exists already", after one that broke', named('RetryError', 'Failed after 2 attempts', { errors: [reset, error('x', { status: 409 })] })],
    ['a code in words of its own', error('refund of order 7 did not work (ECONNRESET)')],
    ['a sentence behind words of its own', error('refund of order 7 failed: socket hang up')],
    ['a status behind words of its own', error('Refund failed: Request failed with status code 502')],
    ['the same twice', error('agent: refund failed: 1 CANCELLED: Cancelled on client')],
    ['a text that was thrown', 'refund failed: read ECONNRESET'],
  ])('%s', (_, value) => {
    expect(verdict(value)).toBe('in-doubt')
  })
})

describe('what an error says about an effect: not done', () => {
  it.each<readonly [string, unknown]>([
    ['words of the tool', error('no such order')],
    ['a 400', error('x', { status: 400 })],
    ['a 401', error('x', { status: 401 })],
    ['a 404 behind words of its own', error('Refund failed: Request failed with status code 404')],
    ['a 409', error('x', { status: 409 })],
    ['a 429', error('x', { status: 429 })],
    ['a declined card', error('Your card was declined.', { type: 'StripeCardError', statusCode: 402 })],
    ['a duplicate row', named('error', 'duplicate key', { code: '23505', severity: 'ERROR' })],
    ['a pattern that does not parse', new SyntaxError('Invalid regular expression: /(/: Unterminated group')],
    ['a bug', new TypeError("Cannot read properties of undefined (reading 'id')")],
    ['several failures, none of them a doubt', new AggregateError([error('declined'), error('x', { status: 404 })], 'all failed')],
    ['a file called after a code', error('ECONNRESET.md was not found')],
    ['a setting', error('Invalid setting: timeout')],
    ['a colon', error('Order 7: not found: nothing to refund')],
    ['nothing', undefined],
    ['an object', { message: 7, errors: 'none' }],
  ])('%s', (_, value) => {
    expect(verdict(value)).toBe('not-done')
  })
})

describe('a rule of the user', () => {
  it('decides also about what looks like a doubt by its text or its members', () => {
    const classify = createClassifier({ rules: [{ name: 'receipt', match: (value) => (value instanceof SyntaxError || value instanceof AggregateError ? { category: 'tool' } : undefined) }] })
    expect([verdict(thrownBy('<html>'), classify), verdict(new AggregateError([reset]), classify)]).toEqual(['not-done', 'not-done'])
  })

  it('is asked about each member', () => {
    const classify = createClassifier({ rules: [{ name: 'bank', match: (value) => ((value as Error).message === 'bank is closed' ? { category: 'server' } : undefined) }] })
    expect(verdict(new AggregateError([error('declined'), error('bank is closed')]), classify)).toBe('in-doubt')
  })
})

it('reads very long and very wide errors in under 50 ms', () => {
  const values = [error('a: b c '.repeat(100_000)), error('ECONNRESE_'.repeat(50_000)), new AggregateError(Array.from({ length: 20_000 }, (_, i) => error(`x${i}`)))]
  for (const value of values) {
    const classification = classifyError(value)
    const times = [1, 2, 3, 4, 5].map(() => {
      const start = performance.now()
      afterError(value, classification)
      return performance.now() - start
    })
    expect(Math.min(...times)).toBeLessThan(50)
  }
})
