/** What a run has used, counted from its journal over all its attempts (R16). */
import type { RunUsage } from '../errors.ts'
import type { Entry, StepKind } from '../journal/entry.ts'

/** Counts entry by entry. */
export class UsageCount {
  #attempts = 0
  readonly #steps: Record<StepKind, number> = { model: 0, tool: 0, step: 0, read: 0, agent: 0 }
  #inputTokens = 0
  #outputTokens = 0
  /** Of the attempts before the newest one, ms. */
  #formerMs = 0
  #attemptAt = 0
  /** Since when the newest attempt does something new; undefined: it has only replayed so far. */
  #since: number | undefined
  #until = 0
  #hasSteps = false
  /** Steps that count since their start, and have no end yet. */
  readonly #started = new Map<string, StepKind>()

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'attempt-started':
        this.#formerMs = this.activeMs()
        this.#attempts++
        this.#attemptAt = entry.at
        // With nothing to replay, all that the handler does is new.
        this.#since = this.#hasSteps ? undefined : entry.at
        break
      case 'step-started':
        this.#hasSteps = true
        if (entry.presumed) break
        this.begin(entry.at)
        this.#steps[entry.step.kind]++
        this.#started.set(entry.step.id, entry.step.kind)
        break
      case 'step-ended': {
        const { step, tries, ms, usage } = entry
        this.#hasSteps = true
        // What was answered without a try did not run.
        if (!this.#started.delete(step.id) && tries > 0) this.#steps[step.kind]++
        if (tries > 0) this.begin(Math.max(this.#attemptAt, entry.at - ms))
        this.#inputTokens += usage?.inputTokens ?? 0
        this.#outputTokens += usage?.outputTokens ?? 0
        break
      }
      case 'settled': {
        // Its code was not called after all.
        const kind = entry.by === 'owner' ? this.#started.get(entry.step) : undefined
        if (kind === undefined) break
        this.#steps[kind]--
        this.#started.delete(entry.step)
      }
    }
    this.#until = entry.at
  }

  /** Something new is done since `at` (ms since the epoch). */
  begin(at: number): void {
    if (this.#since === undefined || at < this.#since) this.#since = at
  }

  /** Since when the newest attempt does something new, ms since the epoch. */
  get since(): number | undefined {
    return this.#since
  }

  /** Active time up to `now`; default: up to the newest entry. */
  activeMs(now = this.#until): number {
    return this.#formerMs + (this.#since === undefined ? 0 : Math.max(0, now - this.#since))
  }

  get usage(): RunUsage {
    return {
      attempts: this.#attempts, steps: { ...this.#steps }, inputTokens: this.#inputTokens, outputTokens: this.#outputTokens, activeMs: this.activeMs(),
    }
  }
}

/**
 * What a run has used, from the entries of its journal: over all attempts, replay apart.
 *
 * @example
 * const { steps, inputTokens, outputTokens } = usageOf(await runner.history('ticket-123'))
 */
export function usageOf(entries: Iterable<{ readonly entry: Entry }>): RunUsage {
  const count = new UsageCount()
  for (const { entry } of entries) count.apply(entry)
  return count.usage
}
