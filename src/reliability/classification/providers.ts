/** What providers call their failures: the words under `type`, `code` and `status` in their error bodies. */
import type { Category } from './category.ts'

type Table = Readonly<Record<string, Readonly<Partial<Record<Category, readonly string[]>>>>>

/** Words that decide. Compared in lower case, `-` and blanks as `_`. */
export const PROVIDER_CODES: Table = {
  anthropic: {
    rate_limit: ['rate_limit_error'],
    overloaded: ['overloaded_error'],
    timeout: ['timeout_error'],
    quota: ['billing_error'],
    auth: ['authentication_error', 'permission_error'],
    context_overflow: ['request_too_large', 'model_context_window_exceeded'],
  },
  openai: {
    rate_limit: ['rate_limit_exceeded', 'rate_limit_reached', 'rate_limited', 'too_many_requests'],
    overloaded: ['server_is_overloaded', 'model_overloaded', 'engine_overloaded', 'engine_overloaded_error', 'overloaded', 'slow_down'],
    quota: [
      'insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active', 'quota_exceeded', 'usage_limit_reached', 'usage_not_included',
      'organization_spend_limit_exceeded', 'project_spend_limit_exceeded', 'spend_limit_exceeded', 'credits_exhausted', 'insufficient_credits',
      'access_terminated', 'exceeded_current_quota_error', 'monthly_limit_exceeded',
    ],
    auth: [
      'invalid_api_key', 'incorrect_api_key', 'invalid_authentication', 'invalid_authentication_error', 'account_deactivated', 'token_expired',
      'organization_deactivated', 'ip_not_authorized', 'missing_api_key', 'incorrect_api_key_error', 'permission_denied_error',
      'insufficient_permissions', 'unauthorized', 'forbidden',
    ],
    context_overflow: ['context_length_exceeded', 'context_window_exceeded', 'string_above_max_length', 'request_too_large_error', 'payload_too_large'],
    content_filter: ['content_policy_violation', 'moderation_blocked', 'content_filter', 'sensitive_content', 'cyber_policy_violation'],
    timeout: ['request_timeout', 'timeout', 'gateway_timeout', 'deadline_exceeded_error'],
  },
  azure: {
    content_filter: ['responsibleaipolicyviolation', 'contentfilter', 'content_filtered'],
    overloaded: ['engineoverloaded', 'nocapacity'],
    rate_limit: ['toomanyrequests', 'ratelimitexceeded', 'ratelimitreached'],
    auth: ['permissiondenied', 'invalidapikey', 'accessdenied'],
  },
  google: {
    rate_limit: ['resource_exhausted', 'userratelimitexceeded', 'rate_limit_exceeded'],
    timeout: ['deadline_exceeded'],
    auth: ['unauthenticated', 'permission_denied', 'api_key_invalid', 'api_key_service_blocked', 'access_token_expired', 'service_disabled'],
    quota: ['dailylimitexceeded', 'quotaexceeded', 'billing_disabled', 'billingdisabled', 'accountdisabled'],
  },
  mistral: { rate_limit: ['service_tier_capacity_exceeded'] },
  xai_groq_deepseek: { quota: ['insufficient_balance', 'blocked_api_access'], tool: ['tool_use_failed'] },
  alibaba: { rate_limit: ['throttling', 'throttling.ratequota', 'throttling.allocationquota'], quota: ['arrearage'], content_filter: ['datainspectionfailed', 'data_inspection_failed'] },
  openrouter: { server: ['provider_unavailable'], overloaded: ['provider_overloaded'], quota: ['key_limit_exceeded', 'payment_required'] },
  vercel_gateway: { quota: ['insufficient_funds', 'customer_verification_required'] },
  litellm: { quota: ['budget_exceeded', 'budget_exceeded_error'], rate_limit: ['throttling_error', 'throttled'] },
  zhipu: { quota: ['1113'] },
  slack: { rate_limit: ['slack_webapi_rate_limited_error'] },
  payments: { server: ['idempotency_key_in_use'] }, // the first one is still being worked on
  langchain: {
    rate_limit: ['model_rate_limit'], auth: ['model_authentication'], invalid_request: ['model_not_found', 'invalid_tool_results', 'invalid_prompt_input'],
    context_overflow: ['context_overflow'],
  },
  oauth: { auth: ['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_token', 'access_denied'] },
}

/** Words that say little: they count after the HTTP status, and what the text says comes before both. */
export const GENERIC_CODES: Table = {
  any: {
    server: [
      'api_error', 'server_error', 'internal_error', 'internal_server_error', 'service_unavailable', 'service_unavailable_error', 'unavailable', 'internal',
      'bad_gateway', 'upstream_error', 'provider_error', 'backenderror',
    ],
    invalid_request: [
      'invalid_request_error', 'invalid_request', 'bad_request', 'bad_request_error', 'invalid_prompt', 'invalid_argument', 'failed_precondition',
      'out_of_range', 'not_found', 'not_found_error', 'model_not_found', 'deploymentnotfound', 'already_exists', 'invalid_value', 'unsupported_value',
      'unsupported_parameter', 'unknown_parameter', 'missing_required_parameter', 'validation_error', 'unprocessable_entity', 'conflict',
    ],
  },
}

/**
 * Words for a failure of the server that a 400 does not outweigh: the AI SDK gives the error in the body of a 200 (the Responses API's `failed`)
 * a status of its own making.
 */
export const SERVER_WORDS: ReadonlySet<string> = new Set(['server_error', 'internal_error', 'internal_server_error'])

/** Why a model stopped, or a prompt was blocked. Ordinary ends (`stop`, `length`, `tool_calls`) are no failures and not in here. */
export const STOP_REASONS: Table = {
  google: {
    content_filter: [
      'safety', 'prohibited_content', 'blocklist', 'recitation', 'spii', 'language', 'image_safety', 'image_prohibited_content', 'image_recitation', 'jailbreak',
      'model_armor', 'blocked',
    ],
    tool: ['malformed_function_call', 'unexpected_tool_call'],
  },
  others: { content_filter: ['content_filter', 'content_filtered', 'guardrail_intervened', 'refusal'], context_overflow: ['model_context_window_exceeded'] },
}

/** Where an error has several words that decide, these are the last word: they stay true however long one waits. */
const LASTING: readonly Category[] = ['quota', 'content_filter', 'context_overflow']

export interface CodeMatch {
  readonly category: Category
  readonly code: string
}

/** The deciding word among `codes`: a lasting one first, else the first in order. */
export function matchCode(codes: readonly string[], lookup: (code: string) => Category | undefined): CodeMatch | undefined {
  let first: CodeMatch | undefined
  for (const code of codes) {
    const category = lookup(code)
    if (category === undefined) continue
    if (LASTING.includes(category)) return { category, code }
    first ??= { category, code }
  }
  return first
}

function index(table: Table): (code: string) => Category | undefined {
  const map = new Map<string, Category>()
  for (const group of Object.values(table)) {
    for (const [category, words] of Object.entries(group)) for (const word of words) map.set(word, category as Category)
  }
  return (code) => map.get(code.toLowerCase().replace(/[\s-]/g, '_'))
}

export const providerCode = index(PROVIDER_CODES)
export const genericCode = index(GENERIC_CODES)
export const stopReason = index(STOP_REASONS)
