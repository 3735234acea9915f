/** The services as the agent's tools reach them: plain HTTP. */
import type { EffectPath } from './ticket.ts'

export interface Services {
  /** `step` names the call, for the service's log. */
  look(path: string, step: string, signal: AbortSignal): Promise<unknown>
  /** Makes an effect; the key lets the service, or whoever asks later, know that it is the same one. */
  act(path: EffectPath, body: unknown, idempotencyKey: string, signal: AbortSignal): Promise<unknown>
  /** The receipt of an effect by its key (without a key: the latest one); null when there is none. */
  find(path: EffectPath, idempotencyKey?: string): Promise<unknown>
}

export function servicesAt(world: string): Services {
  const call = async (path: string, init: RequestInit): Promise<unknown> => {
    const response = await fetch(`${world}${path}`, init)
    const body: unknown = await response.json()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`)
    return body
  }
  return {
    look: (path, step, signal) => call(path, { headers: { 'x-step': step }, signal }),
    act: (path, body, idempotencyKey, signal) =>
      call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(body),
        signal,
      }),
    async find(path, idempotencyKey) {
      const query = idempotencyKey === undefined ? '' : `?key=${encodeURIComponent(idempotencyKey)}`
      const { found } = (await call(`${path}${query}`, {})) as { found: unknown }
      return found
    },
  }
}
