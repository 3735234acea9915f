/** R5: what is not as the journal has it ends replay there; effects that were made are not repeated without a decision. */
import type { Mutant } from '../mutant.ts'

export const divergence: readonly Mutant[] = [
  {
    name: 'no comparison of the whole prefix',
    rule: 'R5',
    wrong: 'Of a conversation only the newest message is compared.',
    file: 'src/ai-sdk/conversation.ts',
    edits: [{ from: "hash(last?.digest ?? '', print)", to: 'hash(print)' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'compares every message, also the old ones (R8)' },
  },
  {
    name: 'guard by arguments only',
    rule: 'R5',
    wrong: 'A call with other arguments does not count as the same effect.',
    file: 'src/effects/guard.ts',
    edits: [{ from: 'if (effect.step.id === call.step || context.taken', to: 'if (effect.fingerprint !== call.fingerprint) return false\n    if (effect.step.id === call.step || context.taken' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'does not repeat an effect that was made already, also when the arguments differ; the decision reuse answers it' },
  },
  {
    name: 'replay goes on after a divergence',
    rule: 'R5',
    wrong: 'Old records of a branch answer steps after the one that diverged.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'branch.diverged = true', to: '' }],
    caughtBy: { file: 'src/replay/machine-divergence.test.ts', name: 'ends replay in its branch for good: a later step that the journal has runs live' },
  },
  {
    name: 'superseded effects forgotten',
    rule: 'R5',
    wrong: 'An effect that no record answers any more may be made again.',
    file: 'src/effects/ledger.ts',
    edits: [{ from: 'effect.superseded = true', to: 'effect.consumed = true' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'does not repeat an effect that was made already, also when the arguments differ; the decision reuse answers it' },
  },
  {
    name: 'effects of replayed responses forgotten',
    rule: 'R5',
    wrong: 'A divergence leaves the calls alone that earlier responses asked for and nobody asks for any more.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'return [branch.path, ...responses]', to: 'return [branch.path, ...responses.slice(0, 0)]' }],
    caughtBy: { file: 'src/replay/machine-divergence.test.ts', name: 'an effect that a replayed response asked for, and that is not asked for any more, is not repeated either' },
  },
  {
    name: 'blind steps replay',
    rule: 'R5',
    wrong: 'A step that does not say what it asks for replays after a result that may be another one now.',
    file: 'src/replay/machine.ts',
    edits: [{ from: "!claim.hasInput && claim.place.type !== 'key'", to: "!claim.hasInput && claim.kind === 'model'" }],
    caughtBy: { file: 'src/replay/machine-divergence.test.ts', name: 'a read runs live after a result that was handed out without a record, and is another one now' },
  },
  {
    name: 'decisions not used up',
    rule: 'R5',
    wrong: 'One decision lets any number of calls pass.',
    file: 'src/effects/ledger.ts',
    edits: [{ from: 'decision.consumed = true', to: 'decision.consumed = false' }],
    caughtBy: { file: 'src/effects/guard.test.ts', name: 'uses the decision up once: the call after it waits again' },
  },
  {
    name: 'endless divergence',
    rule: 'R5',
    wrong: 'A run that diverges at one place again and again is driven again and again.',
    file: 'src/runner/stall.ts',
    edits: [{ from: "return place === undefined ? undefined : {", to: 'return place !== undefined || first ? undefined : {' }],
    caughtBy: { file: 'test/redo-stalled.test.ts', name: 'because its handler puts something into the prompt that it looks up outside of steps: advice, and no endless loop (C37)' },
  },
]
