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
const fetchFailed = (cause: unknown): Error => new TypeError('fetch failed', { cause })

const DOUBTFUL_WORDS = [
  // a failure of the server
  'refund failed with 500', 'Refund API returned 500: oops', 'Refund API returned 502', 'POST /refunds -> 500 Internal Server Error', 'Error 500', 'API error (500): oops',
  'fetch https://pay/refunds \u2192 500', 'payment service responded with a 503', 'got a 502 from the gateway', 'the bank answered with status 504', 'INTERNAL_ERROR', 'http_status=502', 'the bank gave a 5xx', 'statusCode: 500', 'refund failed (Bad Gateway)',
  'HTTP 500 from payments', 'refund failed, status code: 500.', 'The payment service is temporarily unavailable',
  // late
  'refund timed out after 5000ms', 'refund took longer than 50 ms', 'no response from payment gateway', 'the bank did not answer within 30 seconds', 'Heartbeat timeout',
  'Keepalive timeout', 'gave up', 'gave up waiting for the bank', 'payment gateway is not responding', 'context deadline exceeded', 'dial tcp 10.0.0.1:443: i/o timeout',
  'the refund did not finish within 30 s', 'Post "https://pay/refunds": EOF',
  // lost
  'WebSocket connection closed before response', 'Connection closed (1006)', 'Connection to the bank was lost', 'Lost connection to MySQL server during query', 'Unexpected close',
  'Channel closed by server: 541 (INTERNAL-ERROR)', 'Server sent FIN packet unexpectedly, closing connection.', 'Client is closed because Timeout (control socket)',
  'Cannot call write after a stream was destroyed', 'Worker exited before finishing task', 'Worker stopped with exit code 1', 'could not reach the payment service', 'refund failed: fetch failed', 'unable to connect', 'failed to connect to db:5432',
  'ORA-03113: end-of-file on communication channel', 'NJS-123: call timeout of 1000 ms exceeded',
  // cut, unreadable
  'invalid response from the bank', 'could not parse the response of the bank', 'unexpected empty response', 'response of the bank was truncated',
  // said outright
  'the outcome of the refund is unknown', 'the payment may have gone through', 'refund state: unknown',
]

/** How tools speak to models. */
const CLEAN_WORDS = [
  'insufficient funds', 'no such order', 'Order 500 not found', 'cannot refund 500 EUR', 'amount 500 exceeds the limit of 400', 'refund of 500 failed: amount too large',
  'the voucher has expired', 'seat 512 is taken', 'timeout must be a positive number', 'unknown option: timeout', 'order 7 was refunded already', 'the account is closed',
  'the order is closed', 'card declined', 'invalid amount', 'nothing to refund', 'the refund period has ended', 'no answer key was given' , 'customer has no connection to this order',
  'missing request body', 'Missing receipt', 'invalid payload', 'failed to parse request body', 'The deadline for refunds has passed', 'refund deadline expired', 'could not complete the refund: card expired',
  'could not reach an agreement with the customer', 'cannot connect this account twice', 'cancellation is not possible within 30 min of departure', 'Failed to fetch order 7: not found',
  'name truncated to 40 characters', 'no answer provided', 'Connection not found', 'no connection string configured', 'unknown status "open"', 'The recipient is temporarily blocked', 'order could not be found',
  'permission denied', 'Amount must be positive', 'duplicate request', 'user cancelled', 'Something went wrong', 'not a valid email', 'result set is empty', 'the gateway does not support refunds',
  'API key is missing', 'expected a status, got pending', 'rejected: 3 of 500 rows are invalid', 'returned 500 rows, expected 1', 'limit of 512 MB reached', 'error 5001: order locked',
]

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
    // An answer came, and it was not taken.
    ['too many redirects, which come after an answer', fetchFailed(error('redirect count exceeded'))],
    ['a redirect to what is no address', fetchFailed(Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' }))],
    ['a redirect to another scheme', fetchFailed(error('URL scheme must be a HTTP(S) scheme'))],
    ['a redirect to a port that is not asked', fetchFailed(error('bad port'))],
    ['what fetch has no name for', fetchFailed(error('something new'))],
    ['an answer that is too large, of undici', named('ResponseExceededMaxSizeError', 'Response content exceeded max size', { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' })],
    ['the same, of node-fetch', named('FetchError', 'content size at https://x over limit: 10', { type: 'max-size' })],
    ['the same, of gRPC', error('8 RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)', { code: 8, details: 'Received message larger than max (5 vs. 4)', metadata: {} })],
    ['too many redirects, of axios', error('Maximum number of redirects exceeded', { code: 'ERR_FR_TOO_MANY_REDIRECTS' })],
    ['the same, of got', named('MaxRedirectsError', 'Redirected 10 times. Aborting.', { code: 'ERR_TOO_MANY_REDIRECTS' })],
    ['the same, of node-fetch', named('FetchError', 'maximum redirect reached at: https://x', { type: 'max-redirect' })],
    ['a body that took too long', named('FetchError', 'Response timeout while trying to fetch https://x (over 100ms)', { type: 'body-timeout' })],
    ['brotli that does not inflate', error('Decompression failed', { code: 'ERR__ERROR_FORMAT_PADDING_1', errno: -11 })],
    ['zstd that does not inflate', error('Unknown frame descriptor', { code: 'ZSTD_error_prefix_unknown' })],
    ['an answer that is not what its client knows', named('DeserializationError', 'Unexpected token <', { data: '<html>' })],
    // Statuses where clients keep them.
    ['a status under meta', named('ResponseError', 'unavailable_shards_exception', { meta: { statusCode: 503, headers: {}, body: {} } })],
    ['a status under res', error('refund failed', { res: { statusCode: 500 } })],
    ['a redirect that was not followed', named('AxiosError', 'Request failed with status code 302', { code: 'ERR_BAD_REQUEST', response: { status: 302, headers: {}, data: '' } })],
    ['a body that was read before', new TypeError('Body is unusable: Body has already been read')],
    ['a status as the cause', new Error('refund failed', { cause: 500 })],
    ['a status that was thrown', 503],
    ['a class of one\u2019s own', named('RefundTimeout', 'x')],
    ['another one', named('BankConnectionError', 'x')],
    ['a code of one\u2019s own', error('x', { code: 'bank_timeout' })],
    ['another code', error('x', { errorCode: 'NO_RESPONSE' })],
    ['what the body of the answer says', error('refund failed', { body: { error: 'upstream request timed out' } })],
    ['an answer that was thrown', { error: 'Internal error', id: 7 }],
    ['a page that was thrown', '<html><title>502 Bad Gateway</title>'],
    ['the network error of a GraphQL client', named('ApolloError', 'Response not successful: Received status code 502', { networkError: error('x', { statusCode: 502 }), graphQLErrors: [] })],
    ['another one', named('CombinedError', '[Network] Failed to fetch', { networkError: new TypeError('Failed to fetch') })],
    ['a failure behind which cleaning up failed too', named('SuppressedError', 'x', { error: error('pool is closed'), suppressed: reset })],
    ['cleaning up that broke behind a refusal', named('SuppressedError', 'x', { error: reset, suppressed: error('x', { status: 409 }) })],
    ['a group in which the last of many failures is a doubt', new AggregateError([...Array.from({ length: 40 }, () => error('declined')), reset])],
    ['a group that is too large to look at', new AggregateError(Array.from({ length: 1_000 }, () => error('declined')))],
    ['a group in a group', new AggregateError([error('declined'), new AggregateError([error('x', { status: 404 }), reset])])],
    ['a call that is still being worked on', error('There is currently another in-progress request using this Idempotent Key', { statusCode: 409, code: 'idempotency_key_in_use', type: 'StripeIdempotencyError' })],
    ...DOUBTFUL_WORDS.map((text) => [`words: ${text}`, error(text)] as const),
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
    ['an address that fetch refuses before it asks', Object.assign(new TypeError('Failed to parse URL from http://['), { cause: Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' }) })],
    ['a refusal in which another failure is told of', error('the answer timed out once', { status: 409 })],
    ['an argument of the wrong type', Object.assign(new TypeError('The "chunk" argument must be of type string'), { code: 'ERR_INVALID_ARG_TYPE' })],
    ['a header that cannot be sent', Object.assign(new TypeError('Invalid value "undefined" for header "x"'), { code: 'ERR_HTTP_INVALID_HEADER_VALUE' })],
    ['a file that is not there', error("ENOENT: no such file or directory, open 'receipt.txt'", { code: 'ENOENT', errno: -2 })],
    ['a code that only sounds so', error('x', { code: 'ROOM_UNAVAILABLE' })],
    ['a code about a setting', error('x', { code: 'INVALID_TIMEOUT' })],
    ['a class that only sounds so', named('ConnectionNotFoundError', 'x')],
    ['a refusal in the body of an answer', error('refund failed', { body: { error: 'insufficient funds' } })],
    ['a number as the cause', new Error('refund failed', { cause: 404 })],
    ...CLEAN_WORDS.map((text) => [`words: ${text}`, error(text)] as const),
  ])('%s', (_, value) => {
    expect(verdict(value)).toBe('not-done')
  })
})

describe('a rule of the user', () => {
  it('decides also about what looks like a doubt by its text or its members', () => {
    const classify = createClassifier({ rules: [{ name: 'receipt', match: (value) => (value instanceof SyntaxError || value instanceof AggregateError ? { category: 'tool' } : undefined) }] })
    expect([verdict(thrownBy('<html>'), classify), verdict(new AggregateError([reset]), classify)]).toEqual(['not-done', 'not-done'])
  })

  it.each<readonly [string, () => unknown]>([
    ['a promise', async () => ({ category: 'tool' })], ['a category that there is not', () => ({ category: 'sever' })], ['a throw', () => { throw new Error('bug') }],
  ])('leaves an effect in doubt where its answer is %s: what it meant to say, nobody knows', (_, match) => {
    const classify = createClassifier({ rules: [{ name: 'broken', match: match as () => undefined }] })
    expect([verdict(error('no such order'), classify), verdict(reset, classify)]).toEqual(['in-doubt', 'in-doubt'])
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
