/** Questions whether a call may be made, and their answers: each is asked once, and answered once (R10). */
import type { Encoded } from '../journal/codec.ts'
import type { ApprovalDecided, Entry, StepRef } from '../journal/entry.ts'

export interface Question {
  /** Position in the journal. */
  readonly seq: number
  readonly step: StepRef
  /** Of the arguments as asked for. */
  readonly fingerprint: string
  readonly input: Encoded | undefined
  /** When it counts as denied, ms since the epoch. */
  readonly expiresAt: number | undefined
  /** undefined: nobody has answered. */
  readonly decision: Exclude<ApprovalDecided['decision'], { readonly type: 'withdrawn' }> | undefined
}

export class Approvals {
  /** By step: a call that waits has no record, so in a later attempt its id may be another call's, which is asked about anew. */
  readonly #questions = new Map<string, Question>()
  /** Steps whose question nobody can answer any more: they went on without an answer, or one may be lost. */
  readonly #over = new Set<string>()

  apply(entry: Entry, seq: number): void {
    switch (entry.type) {
      case 'approval-asked':
        this.#over.delete(entry.step.id)
        this.#questions.set(entry.step.id, { seq, step: entry.step, fingerprint: entry.fingerprint, input: entry.input, expiresAt: entry.expiresAt, decision: undefined })
        break
      case 'approval-decided': {
        const question = this.#questions.get(entry.step)
        const { decision } = entry
        if (decision.type === 'withdrawn') this.#questions.delete(entry.step)
        else if (question) this.#questions.set(entry.step, { ...question, decision })
        break
      }
      case 'step-started':
      case 'step-ended':
        if (this.#questions.has(entry.step.id)) this.#over.add(entry.step.id)
        break
      case 'salvaged':
        // What was lost may have held the answer, and the call: what is said now is no answer to what was asked then.
        if (entry.had >= seq) for (const [id, { decision }] of this.#questions) if (decision === undefined) this.#over.add(id)
        break
    }
  }

  /** The question about a call, as it was asked last. */
  about(step: string): Question | undefined {
    return this.#questions.get(step)
  }

  /** The question about this very call. */
  of({ id, name }: StepRef, fingerprint: string): Question | undefined {
    const question = this.#questions.get(id)
    return question?.step.name === name && question.fingerprint === fingerprint ? question : undefined
  }

  /** What nobody has answered, and whose call has not been made without an answer. */
  open(): readonly Question[] {
    return [...this.#questions.values()].filter((question) => this.isOpen(question))
  }

  isOpen({ step, seq, decision }: Question): boolean {
    return decision === undefined && !this.#over.has(step.id) && this.#questions.get(step.id)?.seq === seq
  }

  /** Somebody, or the time that was given, has said no: that stands. */
  isDenied(step: string): boolean {
    const decision = this.#questions.get(step)?.decision
    return decision !== undefined && decision.type !== 'approved'
  }
}

/** The time for an answer is over. */
export const hasExpired = ({ expiresAt }: Pick<Question, 'expiresAt'>, now: number): boolean => expiresAt !== undefined && now >= expiresAt
