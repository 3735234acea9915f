/** R9: one owner. */
import type { Mutant } from '../mutant.ts'

export const owner: readonly Mutant[] = [
  {
    name: 'stale token accepted',
    rule: 'R9',
    wrong: 'An owner that has lost the run goes on writing into its journal.',
    file: 'src/stores/append.ts',
    edits: [{ from: 'batch.token !== row.token', to: 'batch.token > row.token' }],
    caughtBy: { file: 'src/stores/append.test.ts', name: 'refuses an old token' },
  },
  {
    name: 'lease taken without comparing',
    rule: 'R9',
    wrong: 'Two that look at the same time both own the run.',
    file: 'src/stores/memory.ts',
    edits: [{ from: 'if (run?.row.token !== expectedToken) return null', to: 'if (!run) return null' }],
    caughtBy: { file: 'src/run/lease.test.ts', name: 'is taken by one of two (D1)' },
  },
  {
    name: 'lease not looked at before an effect',
    rule: 'R9',
    wrong: 'A process that slept through its lease calls the tool that it was about to call.',
    file: 'src/run/live.ts',
    edits: [{ from: '!attempt.options.lease.check()', to: '!attempt.options.lease' }],
    caughtBy: { file: 'test/owners.test.ts', name: 'lets no step with effects start, and ends the attempt: it is looked at right before (R9)' },
  },
  {
    name: 'lease without an end',
    rule: 'R9',
    wrong: 'An attempt that cannot renew its lease goes on.',
    file: 'src/run/lease.ts',
    edits: [{ from: 'this.#disarmEnd = this.#clock.timer(until - this.#clock.now(), () => this.#lose())', to: '' }],
    caughtBy: { file: 'src/run/lease.test.ts', name: 'stops at the last confirmed end when renewals throw until then, and says so once (D3)' },
  },
  {
    name: 'dead by guess',
    rule: 'R9',
    wrong: 'A process of another machine counts as dead because there is none with its number here.',
    file: 'src/run/owner.ts',
    edits: [{ from: 'if (owner.boot !== self.boot || owner.namespace !== self.namespace) return false', to: '' }],
    caughtBy: { file: 'src/run/owner.test.ts', name: 'is never known to be dead of another boot' },
  },
  {
    name: 'inbox not looked at before suspending',
    rule: 'R9',
    wrong: 'A run suspends although somebody has answered in the meantime.',
    file: 'src/runner/drive-attempt.ts',
    edits: [{ from: "{ status: 'suspended', resumeAt }, true)", to: "{ status: 'suspended', resumeAt }, false)" }],
    caughtBy: { file: 'test/doubt.test.ts', name: 'does not suspend over a late result that comes at that very moment (R9)' },
  },
  {
    name: 'crashes without an end',
    rule: 'R9',
    wrong: 'A run that kills its process again and again is never stalled.',
    file: 'src/runner/stall.ts',
    edits: [{ from: 'if (newest.every(({ died }) => died))', to: 'if (newest.every(({ died }) => died && after < 0))' }],
    caughtBy: { file: 'test/redo-stalled.test.ts', name: 'because it ends its process each time is stalled, and others go on (C29)' },
  },
  {
    name: 'writes after the loss',
    rule: 'R9',
    wrong: 'A writer that was told of another owner goes on asking the store.',
    file: 'src/journal/writer.ts',
    edits: [{ from: 'if (this.#lost) {', to: 'if (this.#lost && writes.length < 0) {' }],
    caughtBy: { file: 'src/journal/writer.test.ts', name: 'rejects with LEASE_LOST once another owner has taken over, and all later writes without asking the store' },
  },
]
