/** Which step of a run an error came from: the step that a failed run must not replay (R4). */
import { wrappedIn } from '../reliability/index.ts'

const MAX_LAYERS = 10

export class Blame {
  readonly #errors = new WeakMap<object, string>()
  /** What is no object and was thrown: by which step last. */
  readonly #primitives = new Map<unknown, string>()
  readonly #responses = new Map<string, string>()
  readonly #escaped = new Set<string>()

  /** The error, or the content of a response, was handed to the caller of the step. */
  remember(error: unknown, step: string): void {
    if (typeof error === 'object' && error !== null) this.#errors.set(error, step)
    else this.#primitives.set(error, step)
  }

  /** The response with this id was handed out by the step: an error that names the response blames it. */
  rememberResponse(responseId: string, step: string): void {
    this.#responses.set(responseId, step)
  }

  /** A branch or an agent has failed with this error. */
  escaped(error: unknown): void {
    for (const step of this.stepsOf(error)) this.#escaped.add(step)
  }

  /** The steps that the run failed with, and those that failed branches or agents. */
  of(error: unknown): { readonly known: readonly string[]; readonly escaped: ReadonlySet<string> } {
    return { known: this.stepsOf(error), escaped: this.#escaped }
  }

  /** Looks through the layers that frameworks and people wrap around an error, or around several: what each of them came from. */
  stepsOf(error: unknown): readonly string[] {
    const seen = new Set<unknown>()
    const steps = new Set<string>()
    let layers: unknown[] = [error]
    for (let depth = 0; depth < MAX_LAYERS && layers.length > 0; depth++) {
      const next: unknown[] = []
      for (const layer of layers) {
        if (seen.has(layer)) continue
        seen.add(layer)
        const known = this.#stepOf(layer)
        if (known !== undefined) steps.add(known)
        else for (const inner of wrappedIn(layer)) if (inner !== undefined) next.push(inner)
      }
      layers = next
    }
    return [...steps]
  }

  #stepOf(layer: unknown): string | undefined {
    if (typeof layer !== 'object' || layer === null) return this.#primitives.get(layer)
    return this.#errors.get(layer) ?? this.#responseOf(layer)
  }

  /** The AI SDK's errors about an answer carry the response's metadata (it does not validate, it holds no object), or its content (it heeds no tool choice). */
  #responseOf(layer: object): string | undefined {
    const { response, content } = layer as { response?: { id?: unknown }; content?: unknown }
    const known = typeof content === 'object' && content !== null ? this.#errors.get(content) : undefined
    if (known !== undefined) return known
    return typeof response?.id === 'string' ? this.#responses.get(response.id) : undefined
  }
}
