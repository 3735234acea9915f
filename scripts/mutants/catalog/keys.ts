/** R6: the idempotency key, by which the outside world can tell that two calls are one: never lent to another call. */
import type { Mutant } from '../mutant.ts'

export const keys: readonly Mutant[] = [
  {
    name: 'another key on each attempt',
    rule: 'R6',
    wrong: 'An idempotent step that runs again has another idempotency key.',
    file: 'src/run/attempt.ts',
    edits: [{ from: 'return `hf_${hash(this.runId, ', to: 'return `hf_${hash(this.runId, String(this.options.number), ' }],
    caughtBy: { file: 'test/doubt.test.ts', name: 'runs an idempotent tool again with the same key (C2)' },
  },
  {
    name: 'a key lent again and again',
    rule: 'R6',
    wrong: 'The key of a call that was not done goes on being lent after another one has taken it over.',
    file: 'src/effects/ledger.ts',
    edits: [{ from: 'this.#takeOver(effect)\n    for (', to: 'for (' }],
    caughtBy: { file: 'test/moved.test.ts', name: 'is another one, also where the first was not done at first: it is another refund' },
  },
  {
    name: 'a key lent although it was done',
    rule: 'R6',
    wrong: 'A call that was "not done" and completed late lends its key to one that is made once more.',
    file: 'src/effects/ledger.ts',
    edits: [{ from: 'undone?.delete(effect)\n', to: '{}\n' }],
    caughtBy: { file: 'src/effects/ledger.test.ts', name: 'lends the key of a call that failed or was not done to one that asks for the same, until that took it over or it happened after all' },
  },
  {
    name: 'one key for two at once',
    rule: 'R6',
    wrong: 'Two calls that ask at once for what was not done run under one key: the second of them is taken for the first.',
    file: 'src/run/write-ahead.ts',
    edits: [{ from: 'taken.keys.add(idempotencyKey)', to: '' }],
    caughtBy: { file: 'test/moved.test.ts', name: 'are two effects: one of them has the key of the first, and the other one of its own' },
  },
  {
    name: 'the key of a call that comes back',
    rule: 'R6',
    wrong: 'A call whose own call comes back lends its key to another one before that.',
    file: 'src/run/live.ts',
    edits: [{ from: '!isExpected(former) && !taken.keys', to: '!taken.keys' }],
    caughtBy: { file: 'test/moved.test.ts', name: 'have a key each, whichever of them starts first after that' },
  },
]
