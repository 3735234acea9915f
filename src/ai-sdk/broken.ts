/** A model response that is no answer because it was cut or garbled on its way. */

/** Classified like a socket that was cut, by its code. */
export class BrokenResponseError extends Error {
  override readonly name = 'BrokenResponseError'
  readonly code = 'ECONNRESET'

  constructor(how: string) {
    super(`the model response was broken off: ${how}`)
  }
}

/**
 * What a provider package makes of a body that ends early or holds garbage (a proxy that restarts, a chunk that is lost) says
 * nothing of a connection: here, where it is known to come from a response, it is what it is.
 */
export function asBroken(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, statusCode, cause } = error as Error & { statusCode?: number }
  const isText = (e: unknown): boolean => e instanceof Error && e.name === 'AI_JSONParseError'
  // @ai-sdk/anthropic's, for a first event that is not JSON.
  const isFirstEvent = /^Expected a normalized \w+ stream error$/.test(error.message)
  const isBodyOfSuccess = name === 'AI_APICallError' && statusCode !== undefined && statusCode >= 200 && statusCode < 300 && isText(cause)
  return isText(error) || name === 'AI_InvalidResponseDataError' || isBodyOfSuccess || isFirstEvent ? new BrokenResponseError(error.message) : error
}
