/** Which step of a run an error came from: the step that a failed run must not replay (R4). */
import { placesIn } from '../core/places.ts'

const MAX_LAYERS = 10

export class Blame {
  readonly #errors = new WeakMap<object, string>()
  readonly #responses = new Map<string, string>()

  /** The error, or the content of a response, was handed to the caller of the step. */
  remember(error: unknown, step: string): void {
    if (typeof error === 'object' && error !== null) this.#errors.set(error, step)
  }

  /** The response with this id was handed out by the step: an error that names the response blames it. */
  rememberResponse(responseId: string, step: string): void {
    this.#responses.set(responseId, step)
  }

  /** Looks through the layers that frameworks wrap around an error. */
  stepOf(error: unknown): string | undefined {
    const seen = new Set<unknown>()
    let layers: unknown[] = [error]
    for (let depth = 0; depth < MAX_LAYERS && layers.length > 0; depth++) {
      const next: unknown[] = []
      for (const layer of layers) {
        if (typeof layer !== 'object' || layer === null || seen.has(layer)) continue
        seen.add(layer)
        const known = this.#errors.get(layer) ?? this.#responseOf(layer)
        if (known !== undefined) return known
        const { cause, lastError, errors } = layer as { cause?: unknown; lastError?: unknown; errors?: unknown }
        next.push(cause, lastError)
        if (Array.isArray(errors)) for (const place of placesIn(errors)) next.push(errors[place])
      }
      layers = next
    }
    return undefined
  }

  /** The AI SDK's errors about an answer carry the response's metadata (it does not validate, it holds no object), or its content (it heeds no tool choice). */
  #responseOf(layer: object): string | undefined {
    const { response, content } = layer as { response?: { id?: unknown }; content?: unknown }
    const known = typeof content === 'object' && content !== null ? this.#errors.get(content) : undefined
    if (known !== undefined) return known
    return typeof response?.id === 'string' ? this.#responses.get(response.id) : undefined
  }
}
