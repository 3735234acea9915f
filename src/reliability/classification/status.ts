/** HTTP status codes. */
import type { Category } from './category.ts'

/** Statuses with a meaning of their own; all others go by their hundred. */
const CATEGORY_OF: Readonly<Record<number, Category>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  407: 'auth',
  408: 'timeout',
  413: 'context_overflow',
  425: 'server',
  429: 'rate_limit',
  498: 'overloaded', // Groq: capacity of the flex tier exceeded
  499: 'cancelled',  // the client closed the request
  504: 'timeout',
  444: 'network',    // nginx: closed without an answer
  460: 'cancelled',  // AWS: the client closed the connection
  511: 'network',    // the network between wants a login
  524: 'timeout',    // Cloudflare: the origin took too long
  529: 'overloaded', // Anthropic; in no RFC
}

/** Failures that stay: not implemented, HTTP version not supported, a network that wants a login. */
const LASTING: ReadonlySet<number> = new Set([501, 505, 511])

export interface StatusVerdict {
  readonly category: Category
  /** false: not retryable, whatever the category. */
  readonly retryable?: false
}

/** What an HTTP status from 400 to 599 means by itself. */
export function byStatus(status: number): StatusVerdict {
  const category = CATEGORY_OF[status] ?? (status >= 500 ? 'server' : 'invalid_request')
  return LASTING.has(status) ? { category, retryable: false } : { category }
}

/** The standard reason phrases, in lower case: a text that begins with a status has to go on with its phrase. */
export const REASONS: Readonly<Record<number, readonly string[]>> = {
  400: ['bad request'],
  401: ['unauthorized', 'unauthenticated'],
  402: ['payment required'],
  403: ['forbidden'],
  404: ['not found'],
  405: ['method not allowed'],
  408: ['request timeout', 'request time-out'],
  409: ['conflict'],
  410: ['gone'],
  413: ['payload too large', 'request entity too large', 'content too large', 'request too large'],
  415: ['unsupported media type'],
  422: ['unprocessable entity', 'unprocessable content'],
  425: ['too early'],
  429: ['too many requests', 'rate limit', 'rate limited', 'resource exhausted', 'resource has been exhausted'],
  500: ['internal server error', 'server error'],
  501: ['not implemented'],
  502: ['bad gateway', 'proxy error'],
  503: ['service unavailable', 'service temporarily unavailable'],
  504: ['gateway timeout', 'gateway time-out', 'deadline exceeded'],
  505: ['http version not supported'],
  520: ['web server returned an unknown error', 'unknown error'],
  522: ['connection timed out'],
  524: ['a timeout occurred'],
  529: ['overloaded', 'site is overloaded'],
}
