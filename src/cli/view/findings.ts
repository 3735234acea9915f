/** What was found on the way: warnings, divergences, changes of configuration, doubts that were settled. */
import type { DoubtSettled, Entry, Superseded } from '../../journal/entry.ts'

interface InAttempt {
  readonly attempt: number
}

export interface FoundView {
  readonly warnings: readonly (InAttempt & { readonly code: string; readonly message: string; readonly step: string | null })[]
  /** Steps and branches whose records do not answer any more, and why. */
  readonly divergences: readonly (InAttempt & { readonly by: Superseded['by']; readonly step: string; readonly reason: string; readonly superseded: readonly string[] })[]
  readonly configChanges: readonly (InAttempt & { readonly step: string; readonly changed: readonly string[] })[]
  readonly settlements: readonly (InAttempt & { readonly step: string; readonly by: DoubtSettled['by']; readonly as: DoubtSettled['settlement']['type'] })[]
  /** Where the journal was cut because it was damaged: what was wrong, how many entries it had, in which file they are kept. */
  readonly salvages: readonly (InAttempt & { readonly fault: string; readonly had: number; readonly copy: string })[]
}

type Growing<T> = { readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : never }

export class Findings {
  readonly found: Growing<FoundView> = { warnings: [], divergences: [], configChanges: [], settlements: [], salvages: [] }

  apply(entry: Entry, attempt: number): void {
    switch (entry.type) {
      case 'warning':
        this.found.warnings.push({ attempt, code: entry.code, message: entry.message, step: entry.step ?? null })
        break
      case 'superseded':
        this.found.divergences.push({ attempt, by: entry.by, step: entry.step, reason: entry.reason, superseded: entry.ids })
        break
      case 'config-changed':
        this.found.configChanges.push({ attempt, step: entry.step, changed: entry.changed })
        break
      case 'settled':
        this.found.settlements.push({ attempt, step: entry.step, by: entry.by, as: entry.settlement.type })
        break
      case 'salvaged':
        this.found.salvages.push({ attempt, fault: entry.fault, had: entry.had, copy: entry.copy })
    }
  }
}
