/** What a handler returns, as a value that can be recorded: the AI SDK's results are objects full of promises and getters. */

/** What is kept of a `generateText`, `streamText` or agent result that a handler returns. */
export interface TextResult {
  readonly text: string
  readonly finishReason: string
  /** The messages that the loop added to the conversation. */
  readonly messages: readonly unknown[]
  readonly usage: unknown
}

/** What the run of a handler that returns `T` gives: results of the AI SDK's loops as {@link TextResult}, everything else as it is. */
export type Recorded<T> = T extends { readonly totalUsage: unknown; readonly finishReason: unknown; readonly steps: unknown } ? TextResult : T

interface SdkResult {
  readonly text: PromiseLike<string> | string
  readonly finishReason: PromiseLike<string> | string
  readonly response: PromiseLike<{ messages?: readonly unknown[] }> | { messages?: readonly unknown[] }
  /** Of all steps; a lower `ai` 7 has only `response.messages`. */
  readonly responseMessages?: PromiseLike<readonly unknown[]> | readonly unknown[]
  readonly totalUsage: unknown
  readonly steps: unknown
  consumeStream?(options?: { onError?: (error: unknown) => void }): PromiseLike<void>
}

const isSdkResult = (value: unknown): value is SdkResult =>
  typeof value === 'object' && value !== null && ['text', 'finishReason', 'response', 'totalUsage', 'steps'].every((key) => key in value)

/** A stream is read to its end, so its run does not end before its tools have. Any other value is given back as it is. */
export async function settleResult(value: unknown): Promise<unknown> {
  if (!isSdkResult(value)) return value
  await value.consumeStream?.()
  // `consumeStream` swallows errors; the promises do not.
  const [text, finishReason, response, all, usage] = await Promise.all([value.text, value.finishReason, value.response, value.responseMessages, value.totalUsage])
  return { text, finishReason, messages: all ?? response.messages ?? [], usage } satisfies TextResult
}
