/** What a step stands in. Who no longer waits for that waits for nothing inside of it (R12). */
import { isUnknown } from '../effects/doubt.ts'
import type { Effect } from '../effects/effect.ts'
import { HoldfastError } from '../errors.ts'
import type { Ticket } from '../replay/claim.ts'
import { isWithin } from '../replay/identity.ts'
import { messageOf } from './readable.ts'
import type { Drive } from './drive.ts'
import type { StepSpec } from './step.ts'

interface Open {
  readonly label: string
  readonly cut: AbortController
}

/**
 * Effects whose code runs. A try of the step around one may be cut and followed by the next one, which asks for the same effect and is given
 * what comes of it; so it is waited for until the step around it has an end.
 */
export class OpenEffects {
  readonly #open = new Map<Ticket, Open>()

  /** The signal aborts when it is no longer waited for. */
  begin(ticket: Ticket, label: string): AbortSignal {
    const cut = new AbortController()
    this.#open.set(ticket, { label, cut })
    return cut.signal
  }

  end(ticket: Ticket): void {
    this.#open.delete(ticket)
  }

  inside({ ref: { id } }: Ticket): readonly (Open & Pick<Ticket, 'ref'>)[] {
    return [...this.#open].flatMap(([{ ref }, open]) => (ref.id !== id && isWithin(ref.id, id) ? [{ ref, ...open }] : []))
  }
}

/** The step has an end: effects inside of it that still run are in doubt from now on, and recorded so before the step is. Gives what they are. */
export async function leaveOpenInside({ attempt, openEffects }: Drive, ticket: Ticket, spec: StepSpec, reason?: unknown): Promise<readonly string[]> {
  const inside = spec.hasInside ? openEffects.inside(ticket) : []
  if (inside.length === 0) return []
  for (const { cut } of inside) cut.abort(reason ?? new HoldfastError('BRANCH_ENDED', `${spec.label} has ended without waiting for it`, { runId: attempt.runId, step: ticket.ref.id }))
  await attempt.clock.idle()
  return inside.map(({ label, ref }) => `${label} (${ref.id})`)
}

/** The error of a step that was cut, or whose result is lost: what was done inside of it, or may have been, stays so, and who asks for the step again has to know. */
export function withInside({ attempt }: Drive, { ref: { id } }: Ticket, spec: StepSpec, error: unknown): unknown {
  const { history } = attempt
  const inside = spec.hasInside && !spec.claim.effect ? [...history.recordsBelow(id)].filter((step) => step !== id).flatMap((step) => history.ledger.effects.get(step) ?? []) : []
  const named = (effects: readonly Effect[]): string => effects.map(({ step }) => `${step.kind} "${step.name}" (${step.id})`).join(' and ')
  const [done, doubtful] = [inside.filter(({ state }) => state === 'completed'), inside.filter((effect) => isUnknown(effect, () => false))]
  if (done.length + doubtful.length === 0) return error
  const what = [
    ...(done.length > 0 ? [`${named(done)} ${done.length === 1 ? 'was' : 'were'} done`] : []),
    ...(doubtful.length > 0 ? [`nobody knows whether ${named(doubtful)} took effect`] : []),
  ].join(', and ')
  return new HoldfastError(HoldfastError.isInstance(error) ? error.code : 'STEP_FAILED', `${messageOf(error)}. Inside of it ${what}: do not repeat ${done.length + doubtful.length === 1 ? 'it' : 'them'}`, {
    runId: attempt.runId, step: id, ...(error instanceof Error && { cause: error }),
  })
}

/** Nobody waits for the step any more: that its code was not called is no outcome of it. */
export class SurroundingsEnded extends HoldfastError {}

export const surroundingsEnded = ({ attempt }: Drive, { ref: { id, kind, name } }: Ticket): SurroundingsEnded =>
  new SurroundingsEnded('BRANCH_ENDED', `${kind} "${name}" was given up: what it stands in has ended`, { runId: attempt.runId, step: id })
