/** A client whose errors are tried: it asks a provider's endpoint once and tells what came of it. */

/** Which API an endpoint speaks. */
export type Dialect = 'chat' | 'responses' | 'anthropic' | 'google'

export interface Asking {
  /** Base URL of the loopback server. */
  readonly url: string
  readonly signal?: AbortSignal
  /** The client's own time limit, ms. Default: its own default. */
  readonly timeoutMs?: number
}

/** Asks once, with the client's own retries switched off. Rejects with what the client throws; resolves when it took the response for an answer. */
export type Ask = (asking: Asking) => Promise<unknown>

export interface Client {
  readonly name: string
  readonly dialect: Dialect
  /** Waits for the whole answer. */
  readonly generate?: Ask
  /** Reads the answer as it comes. An error that the client reports instead of throwing it counts as thrown. */
  readonly stream?: Ask
}
