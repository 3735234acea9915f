/** The steps of a run, each with where it stands and how it came there. */
import type { ApprovalDecided, Decision, Entry, StepEnded, StepKind, StepRef, Superseded } from '../../journal/entry.ts'
import { History } from '../../replay/history.ts'
import { approvalOf, isCalled, isWithin } from '../../replay/identity.ts'
import { ReplayCount } from './replays.ts'
import { callView } from './waits.ts'
import { answerOf, stateOf, whyOf, type Answer, type StepFacts, type StepState } from './step-state.ts'

export interface StepView {
  readonly id: string
  /** null where the journal does not say. */
  readonly kind: StepKind | null
  readonly name: string | null
  readonly state: StepState
  /** Why it is in that state, in words. */
  readonly why: string | null
  /** How it got its result; null: it has none. */
  readonly answer: Answer | null
  /** The attempt that recorded it last; null where it was not recorded yet. */
  readonly attempt: number | null
  /** How often it was answered from the journal since, at least and at most. */
  readonly replayedAtLeast: number
  readonly replayedAtMost: number
  /** Its record does not answer any more. An effect in doubt stays in doubt all the same. */
  readonly superseded: boolean
  /** Arguments as executed, the key that its code was given, and when it was started last (ms since the epoch): of steps with effects. */
  readonly input: unknown
  readonly idempotencyKey: string | null
  readonly startedAt: number | null
  /** It is only presumed that it was started, in a part of the journal that was lost before then (ms since the epoch). */
  readonly lostBefore: number | null
  readonly tries: number | null
  readonly ms: number | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
}

/** What the journal says of one step. */
interface Gathered {
  readonly ref: StepRef
  readonly attempt: number
  readonly end: StepEnded | undefined
  superseded: Superseded | undefined
}

export interface TakenDecision {
  readonly step: string
  readonly decision: Decision['type'] | ApprovalDecided['decision']['type']
  /** Who decided, where that was said. */
  readonly by: string | null
  readonly attempt: number
  usedBy: string | null
}

/** What is known besides the journal. */
export interface Now {
  /** Fencing token of the attempt that drives the run now. */
  readonly driver: number | undefined
  /** Steps that the run waits with: id, and the name of the tool where it is known. */
  readonly waiting: ReadonlyMap<string, string | null>
}

export class StepLog {
  readonly history = new History()
  /** The newest attempt; 0 before the first. */
  attempt = 0
  readonly #steps = new Map<string, Gathered>()
  readonly #replays = new ReplayCount()
  /** By position in the inbox; of an approval, by its step. */
  readonly #decisions = new Map<number | string, TakenDecision>()
  /** By step, the decisions that it used up last. */
  readonly #decided = new Map<string, readonly TakenDecision['decision'][]>()

  apply(entry: Entry, seq: number): void {
    if (entry.type === 'attempt-started') {
      this.attempt = entry.attempt
      this.#replays.attemptStarted(this.history.expected())
    }
    this.history.apply(entry, seq)
    switch (entry.type) {
      case 'attempt-ended':
        this.#replays.attemptEnded(entry.summary)
        break
      case 'step-started':
      case 'step-ended': {
        const approval = this.#decisions.get(entry.step.id)
        if (approval) approval.usedBy = entry.step.id
        const end = entry.type === 'step-ended' ? entry : undefined
        this.#steps.set(entry.step.id, { ref: entry.step, attempt: this.attempt, end, superseded: undefined })
        break
      }
      case 'superseded':
        for (const step of this.#steps.values()) if (!step.superseded && entry.ids.some((id) => isWithin(step.ref.id, id))) step.superseded = entry
        break
      case 'decision':
        this.#decisions.set(entry.inbox, { step: entry.step, decision: entry.decision.type, by: null, attempt: this.attempt, usedBy: null })
        // It settled the doubt at once.
        if (this.history.ledger.decisions.some(({ inbox, consumed }) => inbox === entry.inbox && consumed)) this.#use([entry.inbox], entry.step)
        break
      case 'approval-decided': {
        const { decision } = entry
        // Nobody has decided: nobody waits for the call any more.
        if (decision.type === 'withdrawn') this.#decisions.delete(entry.step)
        else this.#decisions.set(entry.step, { step: entry.step, decision: decision.type, by: ('by' in decision && decision.by) || null, attempt: this.attempt, usedBy: null })
        break
      }
      case 'consumed':
        this.#use(entry.decisions, entry.step)
    }
  }

  #use(decisions: readonly number[], step: string): void {
    const used = decisions.flatMap((inbox) => this.#decisions.get(inbox) ?? [])
    for (const decision of used) decision.usedBy = step
    this.#decided.set(step, used.map(({ decision }) => decision))
  }

  /** All that were taken in, oldest first. */
  decisions(): readonly TakenDecision[] {
    return [...this.#decisions.values()]
  }

  views({ driver, waiting }: Now): StepView[] {
    const recorded = [...this.#steps.values()].map((step) => this.#view(step, driver, waiting.has(step.ref.id)))
    const others = [...waiting].filter(([id]) => !this.#steps.has(id))
    return [...recorded, ...others.map(([id, tool]) => notRecorded(id, tool))]
  }

  #view(step: Gathered, driver: number | undefined, isWaiting: boolean): StepView {
    const { ref, end } = step
    const effect = this.history.ledger.effects.get(ref.id)
    const facts: StepFacts = {
      end, effect, isWaiting, superseded: step.superseded, isDriven: effect !== undefined && effect.token === driver, decided: this.#decided.get(ref.id) ?? [],
    }
    const { least, most } = this.#replays.of(ref.id)
    const { input, idempotencyKey, startedAt, lostBefore } = effect ? callView(effect) : NOT_STARTED
    return {
      id: ref.id,
      kind: ref.kind,
      name: ref.name,
      state: stateOf(facts),
      why: whyOf(facts),
      answer: answerOf(facts),
      attempt: step.attempt,
      replayedAtLeast: least,
      replayedAtMost: most,
      superseded: step.superseded !== undefined,
      input,
      idempotencyKey,
      startedAt,
      lostBefore,
      tries: end?.tries ?? null,
      ms: end?.ms ?? null,
      inputTokens: end?.usage?.inputTokens ?? null,
      outputTokens: end?.usage?.outputTokens ?? null,
    }
  }
}

const NOT_STARTED = { input: null, idempotencyKey: null, startedAt: null, lostBefore: null } as const

const notRecorded = (id: string, tool: string | null): StepView => ({
  id, kind: tool === null ? null : isCalled(id) || approvalOf(id) !== undefined ? 'tool' : 'step', name: tool, state: 'waiting', why: null, answer: null, attempt: null,
  replayedAtLeast: 0, replayedAtMost: 0, superseded: false, ...NOT_STARTED, tries: null, ms: null, inputTokens: null, outputTokens: null,
})
