import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../errors.ts'
import { CATEGORIES, classifyError, createClassifier } from './index.ts'

const withCause = (message: string, cause: unknown): Error => new Error(message, { cause })
const status = (code: number, more: object = {}): Error => Object.assign(new Error('x'), { status: code, ...more })

describe('classifyError: what the caller knows', () => {
  it('takes whatever was thrown after the own signal was aborted for that abort', () => {
    expect(classifyError(status(503), { aborted: true })).toMatchObject({ category: 'cancelled', retryable: false, evidence: { layer: 'context' } })
    expect(classifyError(new DOMException('aborted', 'AbortError'), { aborted: true, abortReason: 'timeout' })).toMatchObject({ category: 'timeout', retryable: true })
  })

  it('takes the clock for the dates in hints', () => {
    const error = status(429, { headers: { 'retry-after': 'Sun, 29 Nov 2026 12:00:30 GMT' } })
    expect(classifyError(error, { now: Date.parse('2026-11-29T12:00:10Z') }).retryAfterMs).toBe(20_000)
  })
})

describe('classifyError: layers', () => {
  it('decides by the outermost layer with evidence and says which it was', () => {
    const error = withCause('could not answer', withCause('the model failed', status(429)))
    expect(classifyError(error)).toMatchObject({ category: 'rate_limit', evidence: { rule: 'status:429', layer: 'error.cause.cause', depth: 2 } })
    expect(classifyError(Object.assign(error, { status: 401 }))).toMatchObject({ category: 'auth', evidence: { layer: 'error', depth: 0 } })
  })

  it('takes the last failure of a retry, not its first', () => {
    const retry = Object.assign(new Error('Failed after 2 attempts'), { name: 'AI_RetryError', errors: [status(503), status(401)] })
    expect(classifyError(retry)).toMatchObject({ category: 'auth', evidence: { layer: 'error.errors[1]' } })
  })

  it('lets a thin "fetch failed" stand only where what it wraps says nothing', () => {
    const failed = (cause?: unknown): TypeError => new TypeError('fetch failed', { cause })
    expect(classifyError(failed())).toMatchObject({ category: 'network', retryable: true })
    expect(classifyError(failed(new Error('something')))).toMatchObject({ category: 'network', retryable: true })
    expect(classifyError(failed(Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' })))).toMatchObject({ category: 'timeout' })
    expect(classifyError(failed(Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' })))).toMatchObject({ category: 'network', retryable: false })
  })

  it('calls an aggregate unknown as soon as one member says something else, or nothing', () => {
    expect(classifyError(new AggregateError([status(503), status(500)])).category).toBe('server')
    expect(classifyError(new AggregateError([status(503), status(429)])).category).toBe('unknown')
    expect(classifyError(new AggregateError([status(503), new Error('bug')])).category).toBe('unknown')
    expect(classifyError(new AggregateError([status(503), status(501)]))).toMatchObject({ category: 'server', retryable: false })
  })

  it('ends with cycles, and with wrappers without end', () => {
    const loop = new AggregateError([], 'loop')
    loop.errors = [loop, withCause('inner', loop)]
    loop.cause = loop
    expect(classifyError(loop).category).toBe('unknown')
    let deep: unknown = status(503)
    for (let i = 0; i < 10_000; i++) deep = withCause('outer', deep)
    expect(classifyError(deep).category).toBe('unknown')
  })
})

describe('classifyError: what overrides retryable', () => {
  it('lets nonRetryable and x-should-retry change retryable, never the category', () => {
    expect(classifyError(withCause('outer', status(503, { nonRetryable: true })))).toMatchObject({ category: 'server', retryable: false, evidence: { override: 'nonRetryable' } })
    expect(classifyError(status(503, { headers: { 'x-should-retry': 'false' } }))).toMatchObject({ category: 'server', retryable: false })
    expect(classifyError(status(409, { headers: { 'x-should-retry': 'true' } }))).toMatchObject({ category: 'invalid_request', retryable: true })
  })

  it('lets nothing make an unknown or a cancelled error retryable', () => {
    const headers = { 'x-should-retry': 'true' }
    expect(classifyError(Object.assign(new Error('bug'), { headers, isRetryable: true, retryable: true }))).toMatchObject({ category: 'unknown', retryable: false })
    expect(classifyError(Object.assign(new DOMException('x', 'AbortError'), { headers }))).toMatchObject({ category: 'cancelled', retryable: false })
  })

  it('keeps what Holdfast itself throws from being retried by a layer above, except a timeout of a step', () => {
    expect(classifyError(new HoldfastError('STEP_TIMEOUT', 'model timed out after 5 ms'))).toMatchObject({ category: 'timeout', retryable: true })
    expect(classifyError(new HoldfastError('RUN_TIMEOUT', 'out of time'))).toMatchObject({ category: 'timeout', retryable: false })
    expect(classifyError(new HoldfastError('RUN_FAILED', 'failed', { cause: status(503) }))).toMatchObject({ category: 'server', retryable: false })
  })

  it('has no hint where it is not retryable', () => {
    expect(classifyError(status(400, { headers: { 'retry-after': '4' } })).retryAfterMs).toBeNull()
  })
})

describe('createClassifier', () => {
  class LedgerClosed extends Error {}
  const ledger = { name: 'ledger', match: (error: unknown) => error instanceof LedgerClosed ? { category: 'server' as const, retryable: true } : undefined }

  it('asks the rules first, in order, of each layer', () => {
    const classify = createClassifier({ rules: [{ name: 'nothing', match: () => undefined }, ledger] })
    const error = withCause('transfer', Object.assign(new LedgerClosed('401 Unauthorized'), { status: 401 }))
    expect(classify(error)).toEqual({
      category: 'server', retryable: true, retryAfterMs: null, evidence: { rule: 'rule:ledger', layer: 'error.cause', depth: 1 },
    })
    expect(classify(status(401)).category).toBe('auth')
  })

  it('lets a rule make an unknown error retryable, and name the wait', () => {
    const classify = createClassifier({ rules: [{ name: 'flaky', match: () => ({ category: 'unknown', retryable: true, retryAfterMs: 7 }) }] })
    expect(classify(new Error('odd'))).toMatchObject({ category: 'unknown', retryable: true, retryAfterMs: 7 })
  })

  it('fills in what a rule leaves out: retryable by the category, the hint from the error', () => {
    const classify = createClassifier({ rules: [{ name: 'teapot', match: (value) => (value as { status?: number }).status === 418 ? { category: 'rate_limit' } : undefined }] })
    expect(classify(status(418, { headers: { 'retry-after': '2' } }))).toMatchObject({ category: 'rate_limit', retryable: true, retryAfterMs: 2_000 })
  })

  it.each<readonly [string, () => unknown, string | undefined]>([
    ['throws', () => { throw new Error('bug') }, 'it threw: bug'],
    ['gives a promise', async () => ({ category: 'server' }), 'it gave a promise, and must answer at once'],
    ['gives a promise that fails', async () => { throw new Error('later') }, 'it gave a promise, and must answer at once'],
    ['gives a word', () => 'network', 'it gave "network" in place of { category }'],
    ['gives true', () => true, 'it gave true in place of { category }'],
    ['leaves the category out', () => ({}), 'it gave the category undefined, which there is not'],
    ['gives a category that there is not', () => ({ category: 'netwrok' }), 'it gave the category "netwrok", which there is not'],
    ['gives retryable as a word', () => ({ category: 'server', retryable: 'yes' }), 'it gave retryable "yes", which is neither true nor false'],
    ['gives a hint below 0', () => ({ category: 'server', retryAfterMs: -5 }), 'it gave retryAfterMs -5, which is not from 0 to 2147483647 ms'],
    ['gives a hint of 30,000 years', () => ({ category: 'server', retryAfterMs: 1e15 }), 'it gave retryAfterMs 1000000000000000, which is not from 0 to 2147483647 ms'],
    ['says nothing', () => undefined, undefined],
    ['says nothing by null', () => null, undefined],
  ])('goes on without a rule that %s, and says so', (_, match, why) => {
    const classify = createClassifier({ rules: [{ name: 'broken', match: match as () => undefined }, { name: 'second', match: (value) => ((value as Error).message === 'mine' ? { category: 'auth' } : undefined) }] })
    const { category, evidence } = classify(status(429))
    expect([category, evidence.ignored]).toEqual(['rate_limit', why && `rule "broken" was ignored: ${why}`])
    expect(classify(new Error('mine')).category).toBe('auth')
  })

  it.each<readonly [unknown, string]>([
    [{ rules: 'x' }, 'options of createClassifier().rules must be an array, got "x"'],
    [{ rule: [] }, 'options of createClassifier().rule is not known'],
    [[], 'options of createClassifier() must be an object, got an array'],
    [{ rules: [{}] }, 'options of createClassifier().rules[0].name must be a text that is not empty, got undefined'],
    [{ rules: [{ name: 'x' }] }, 'options of createClassifier().rules[0].match must be a function, got undefined'],
    [{ rules: [{ name: '', match: () => undefined }] }, 'rules[0].name must be a text that is not empty, got ""'],
    [{ rules: [{ name: 'x', match: () => undefined }, { nmae: 'y', match: () => undefined }] }, 'rules[1].nmae is not known'],
    [{ rules: [() => undefined] }, 'rules[0] must be an object, got a function'],
  ])('refuses %j', (options, message) => {
    expect(() => createClassifier(options as object)).toThrow(message)
  })

  it('takes a rule that is an object with methods, and knows it as it was given', () => {
    class Teapots {
      readonly name = 'teapots'
      readonly code = 418
      match(value: unknown) {
        return (value as { status?: number }).status === this.code ? { category: 'overloaded' as const } : undefined
      }
    }
    const rules = [new Teapots()]
    const classify = createClassifier({ rules })
    rules.length = 0
    expect(classify(status(418)).evidence.rule).toBe('rule:teapots')
  })

  it('does not ask the rules about the own abort', () => {
    const classify = createClassifier({ rules: [{ name: 'all', match: () => ({ category: 'server' }) }] })
    expect(classify(new Error('x'), { aborted: true }).category).toBe('cancelled')
  })
})

/** Ms of the quickest of several: the first meets cold code, and a busy machine may pause any of them. */
function quickest(work: () => unknown): number {
  let best = Infinity
  for (let time = 0; time < 10 && best >= 50; time++) {
    const start = performance.now()
    work()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

describe('classifyError: any value', () => {
  const keys = fc.constantFrom('cause', 'error', 'errors', 'lastError', 'message', 'name', 'code', 'status', 'headers', 'data', 'response', 'responseBody', 'details', 'retryDelay', 'retry-after')
  const values = fc.letrec((tie) => ({
    node: fc.oneof({ depthSize: 'small' }, fc.anything(), fc.string(), fc.integer({ min: -33_000, max: 600 }), fc.dictionary(keys, tie('node'), { maxKeys: 6 }), fc.array(tie('node'), { maxLength: 4 })),
  })).node

  it('is classified without a throw, and retryable only with evidence', () => {
    fc.assert(fc.property(values, fc.boolean(), (value, asError) => {
      const error: unknown = asError && typeof value === 'object' && value !== null ? Object.defineProperties(new Error('x'), Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, { value: item, configurable: true }]))) : value
      const got = classifyError(error, { now: 0 })
      expect(CATEGORIES).toContain(got.category)
      if (got.category === 'unknown') expect(got.retryable).toBe(false)
      if (got.retryAfterMs !== null) expect(Number.isSafeInteger(got.retryAfterMs) && got.retryAfterMs >= 0 && got.retryAfterMs < 2 ** 31).toBe(true)
    }), { numRuns: 400, seed: 1 })
  })

  it('is read without a throw when it is a Proxy that throws, revoked, or has no prototype', () => {
    const hostile = new Proxy({}, { get() { throw new Error('get') }, ownKeys() { throw new Error('keys') }, getPrototypeOf() { throw new Error('proto') } })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const value of [hostile, proxy, Object.create(null), withCause('x', hostile), { error: proxy, headers: hostile, errors: [hostile, proxy] }]) {
      expect(classifyError(value)).toMatchObject({ category: 'unknown', retryable: false })
    }
  })

  const long = 250_000
  it.each([
    ['digits', '4'.repeat(long)], ['blanks', ' '.repeat(long)], ['braces', '{ '.repeat(long)], ['quotes', "{'a': ".repeat(long)], ['a class name', 'A.'.repeat(long)],
    ['words', 'input limit exceeds the '.repeat(10_000)], ['durations', `retry after ${'1 m '.repeat(long)}`], ['nested JSON', `${'['.repeat(100_000)}`],
    ['JSON in JSON', JSON.stringify({ message: JSON.stringify({ message: JSON.stringify({ message: '{"'.repeat(20_000) }) }) })],
    ['a limit', `429 limit 1 ${'requested '.repeat(long)}`], ['names', `rate limit ${'x'.repeat(long)}`], ['quota', 'exceeded your '.repeat(20_000)],
  ])('is classified in under 50 ms when its text is very long (%s)', (_, message) => {
    for (const error of [new Error(message), status(400, { responseBody: message }), status(429, { error: { message } }), message]) {
      expect(quickest(() => classifyError(error, { now: 0 }))).toBeLessThan(50)
    }
  })

  it('is classified in under 50 ms when it is a group of groups of groups', () => {
    const group = (depth: number): Error => (depth === 0 ? Object.assign(new Error('x'), { code: 'ECONNRESET' }) : new AggregateError(Array.from({ length: 10 }, () => group(depth - 1))))
    const error = group(5)
    expect(quickest(() => expect(classifyError(error, { now: 0 }).category).toBe('network'))).toBeLessThan(50)
  })

  it('is classified in under 50 ms when it is very wide', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => Object.assign(new Error(`x${i}`), { status: 503, data: { details: Array.from({ length: 50 }, () => ({})) } }))
    expect(quickest(() => classifyError(new AggregateError(many), { now: 0 }))).toBeLessThan(50)
  })
})
