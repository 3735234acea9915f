/** Responses of status 200 that are no answer: an error where the answer should be, or an answer without its end (A5). */
import type { LanguageModelV4FinishReason, LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import { shown } from '../core/shown.ts'
import { BrokenResponseError } from './broken.ts'

/** What the body of a response says about its failure; classified by the provider's own words in `data`. */
export class FailedResponseError extends Error {
  override readonly name = 'FailedResponseError'
  readonly data: { readonly error: unknown }

  constructor(error: unknown) {
    const message = typeof error === 'string' ? error : at(error, 'message')
    super(`the model response holds an error in place of an answer${typeof message === 'string' ? `: ${message}` : ''}`)
    this.data = { error }
  }
}

/**
 * Provider packages take what they know from a body and leave the rest: from one that holds an error (Google's) they make an empty answer, from one
 * without a finish reason a short one, and both would be recorded as the model's. Where the body can be seen it is looked at.
 *
 * @throws FailedResponseError, or BrokenResponseError, which is retried like a stream that breaks off.
 */
export function refuseNoAnswer(result: Pick<LanguageModelV4GenerateResult, 'content' | 'finishReason' | 'response'>): void {
  if (!Array.isArray(at(result, 'content')) || typeof at(at(result, 'finishReason'), 'unified') !== 'string') throw new BrokenResponseError('it has no content, or no finish')
  const { content, finishReason, response } = result
  for (const part of content) refuseHole(part)
  const error = errorIn(response?.body)
  if (error !== undefined) throw new FailedResponseError(error)
  refuseFailed(finishReason)
  // Without a body to look at, only that there is neither a word nor an end.
  const isNothing = content.length === 0 && finishReason.unified === 'other' && (finishReason.raw ?? '') === ''
  if (isNothing || isUnfinished(response?.body)) throw new BrokenResponseError('it ended before it was finished')
}

/**
 * Adapters and middleware of one's own may lose a part of an answer, or what a call is known by: it cannot be recorded, nor carried on.
 *
 * @throws BrokenResponseError
 */
export function refuseHole(part: unknown): void {
  const type = at(part, 'type')
  if (typeof type !== 'string') throw new BrokenResponseError(`it holds ${shown(part).slice(0, 80)} where a part should be`)
  const missing = type === 'tool-call' ? ['toolCallId', 'toolName', 'input'].find((key) => typeof at(part, key) !== 'string') : undefined
  if (missing !== undefined) throw new BrokenResponseError(`it holds a tool call without its ${missing}`)
}

/** Finishes of answers that broke off on the other side, whatever came before: of OpenRouter and Mistral, vLLM and SGLang, DeepSeek. */
const FAILED: Readonly<Record<string, string>> = { error: 'server_error', abort: 'server_error', insufficient_system_resource: 'overloaded_error' }

/** @throws FailedResponseError `error`, or what the name of the finish says. */
export function refuseFailed({ raw }: LanguageModelV4FinishReason, error?: unknown): void {
  const name = raw?.toLowerCase() ?? ''
  if (Object.hasOwn(FAILED, name)) throw new FailedResponseError(error ?? { type: FAILED[name], message: `it was ended by "${name}"` })
}

/** The error in a body, or in one event of a stream; undefined: none. Responses of success may have one that is null. */
export function errorIn(body: unknown): unknown {
  if (Array.isArray(body)) return body.length === 1 ? errorIn(body[0]) : undefined
  const choices = at(body, 'choices')
  const errors = [at(body, 'error'), ...(Array.isArray(choices) ? choices.map((choice: unknown) => at(choice, 'error')) : [])]
  return errors.find((error) => (typeof error === 'string' ? error !== '' : ['message', 'code', 'type', 'status'].some((key) => (at(error, key) ?? '') !== '')))
}

/** By the four forms of answers that providers copy from each other: chat completions, responses, Anthropic's messages, Google's candidates. */
function isUnfinished(body: unknown): boolean {
  const [choices, candidates] = [at(body, 'choices'), at(body, 'candidates')]
  if (Array.isArray(choices)) return isMissing(at(choices[0], 'finish_reason'))
  if (Array.isArray(candidates)) return isMissing(at(candidates[0], 'finishReason')) && isMissing(at(at(body, 'promptFeedback'), 'blockReason'))
  if (at(body, 'object') === 'response') return ['in_progress', 'queued', 'cancelled'].includes(String(at(body, 'status')))
  return at(body, 'type') === 'message' && at(body, 'role') === 'assistant' && isMissing(at(body, 'stop_reason'))
}

const isMissing = (reason: unknown): boolean => (reason ?? '') === ''

const at = (value: unknown, key: string): unknown => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined)
