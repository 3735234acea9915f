/** How the providers say how long to wait. The `Date` of the responses is fixed, so that dates give exact waits. */
import { everywhere, failure } from './situation.ts'
import type { Situation } from './situation.ts'
import type { Reply } from '../loopback.ts'

const date = 'Sun, 29 Nov 2026 12:00:00 GMT'
const limited = {
  openai: { message: 'Rate limit reached for gpt-4.1-mini in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1.', type: 'requests', code: 'rate_limit_exceeded' },
  anthropic: { type: 'rate_limit_error', message: 'This request would exceed the rate limit for your organization of 50 requests per minute.' },
  google: { code: 429, message: 'Resource has been exhausted (e.g. check quota).', status: 'RESOURCE_EXHAUSTED' },
}
const waiting = (name: string, headers: Reply['headers'], retryAfterMs?: number): Situation => ({
  name: `429 with ${name}`,
  replies: failure(429, limited, { date, ...headers }),
  expect: retryAfterMs === undefined ? ['rate_limit', true] : ['rate_limit', true, retryAfterMs],
})

export const HINTS: readonly Situation[] = [
  waiting('no hint', {}),
  waiting('Retry-After in seconds', { 'retry-after': '7' }, 7_000),
  waiting('Retry-After as an HTTP date', { 'retry-after': 'Sun, 29 Nov 2026 12:00:30 GMT' }, 30_000),
  waiting('Retry-After as RFC 3339', { 'retry-after': '2026-11-29T12:00:45.5Z' }, 45_500),
  waiting('Retry-After of an hour', { 'retry-after': '3600' }, 3_600_000),
  waiting('a Retry-After that is past', { 'retry-after': 'Sun, 29 Nov 2026 11:59:00 GMT' }),
  waiting('a negative Retry-After', { 'retry-after': '-5' }),
  waiting('a Retry-After beyond any timer', { 'retry-after': '99999999999' }),
  waiting('a Retry-After that is garbage', { 'retry-after': 'soon' }),
  waiting('retry-after-ms, which is more exact than Retry-After', { 'retry-after-ms': '1250.5', 'retry-after': '2' }, 1_251),
  waiting('Anthropic’s buckets, of which one is empty', {
    'anthropic-ratelimit-requests-limit': '50', 'anthropic-ratelimit-requests-remaining': '0', 'anthropic-ratelimit-requests-reset': '2026-11-29T12:00:12Z',
    'anthropic-ratelimit-tokens-limit': '80000', 'anthropic-ratelimit-tokens-remaining': '40000', 'anthropic-ratelimit-tokens-reset': '2026-11-29T12:01:00Z',
  }, 12_000),
  waiting('OpenAI’s buckets, both empty', {
    'x-ratelimit-limit-requests': '3', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s',
    'x-ratelimit-limit-tokens': '1000', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '634ms',
  }, 360_000),
  {
    name: '429 with Google’s RetryInfo',
    replies: failure(429, {
      google: {
        code: 429, status: 'RESOURCE_EXHAUSTED',
        message: 'You exceeded your current quota, please check your plan and billing details. Please retry in 38.52s.',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests', quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier', quotaValue: '10' }] },
          { '@type': 'type.googleapis.com/google.rpc.Help', links: [{ description: 'Learn more', url: 'https://ai.google.dev/gemini-api/docs/rate-limits' }] },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38s' },
        ],
      },
    }),
    expect: ['rate_limit', true, 38_000],
  },
  {
    name: '429 with a sentence',
    replies: failure(429, { openai: { message: 'Rate limit reached for gpt-4.1-mini on tokens per min (TPM): Limit 10000, Used 9000, Requested 1200. Please try again in 1.2s.', type: 'tokens', code: 'rate_limit_exceeded' } }),
    expect: ['rate_limit', true, 1_200],
  },
  {
    name: '429 for a request above the limit',
    replies: failure(429, { openai: { message: 'Request too large for gpt-4.1-mini in organization org-1 on tokens per min (TPM): Limit 10000, Requested 12001.', type: 'tokens', code: 'rate_limit_exceeded' } }),
    expect: ['context_overflow', false],
  },
  {
    name: '429 out of quota, though with Retry-After',
    replies: failure(429, {
      openai: { message: 'You exceeded your current quota, please check your plan and billing details.', type: 'insufficient_quota', code: 'insufficient_quota' },
      google: {
        code: 429, status: 'RESOURCE_EXHAUSTED', message: 'You exceeded your current quota.',
        details: [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }],
      },
    }, { 'retry-after': '3' }),
    expect: ['quota', false],
  },
  { name: '429 without a body', replies: everywhere({ status: 429, headers: { 'retry-after': '2' } }), expect: ['rate_limit', true, 2_000] },
  { name: '503 with Retry-After', replies: everywhere({ status: 503, headers: { date, 'retry-after': '120' } }), expect: ['server', true, 120_000] },
]
