/** Says what kind of error something is. */
import { isTransient } from './category.ts'
import type { Category, Classification, ErrorContext } from './category.ts'

/** Interim: the runner's own abort and HTTP status only. */
export function classifyError(error: unknown, context: ErrorContext = {}): Classification {
  const category: Category = context.aborted ? (context.abortReason === 'timeout' ? 'timeout' : 'cancelled') : byStatus(error)
  return { category, retryable: isTransient(category), retryAfterMs: null, evidence: { rule: 'interim', layer: 'error', depth: 0 } }
}

function byStatus(error: unknown): Category {
  if (typeof error !== 'object' || error === null) return 'unknown'
  if ('code' in error && error.code === 'ECONNRESET') return 'network'
  const status = 'statusCode' in error ? error.statusCode : 'status' in error ? error.status : undefined
  return status === 429 ? 'rate_limit' : status === 529 ? 'overloaded' : status === 503 ? 'server' : status === 401 ? 'auth' : 'unknown'
}
