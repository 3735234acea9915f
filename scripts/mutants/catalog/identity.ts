/** R1: a step is known by where it is asked and what it asks, never by when it finished. */
import type { Mutant } from '../mutant.ts'

export const identity: readonly Mutant[] = [
  {
    name: 'matched by number only',
    rule: 'R1',
    wrong: 'A record answers whatever is asked for in its place.',
    file: 'src/replay/match.ts',
    edits: [{ from: 'ref.name === claim.name && fingerprint === claim.fingerprint', to: 'ref.name === claim.name' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'diverges with position and reason, and goes on live' },
  },
  {
    name: 'matched by fingerprint only',
    rule: 'R1',
    wrong: 'Any record of a branch answers a step that asks for the same, wherever it stands.',
    file: 'src/replay/branch.ts',
    edits: [{ from: 'const found = inPlace ? [inPlace] : []\n    for (const slot of this.#inReach())', to: 'const found = inPlace ? [inPlace] : []\n    for (const slot of this.#recordsBySlot.keys())' }],
    caughtBy: { file: 'src/replay/machine-divergence.test.ts', name: 'a record further on does not answer a step that is asked for earlier' },
  },
  {
    name: 'matched by finishing order',
    rule: 'R1',
    wrong: 'The calls of a response are answered with its records in the order in which these ended.',
    file: 'src/replay/machine.ts',
    edits: [{
      from: 'const record = this.#recordAt(place)\n    // A response',
      to: `const record = [...this.#history.records.values()]
      .filter((r) => r.end && parentOf(r.ref.id) === parentOf(place) && !branch.tickets.some((ticket) => ticket.record === r))
      .sort((a, b) => a.end!.seq - b.end!.seq)[0]
    // A response`,
    }],
    caughtBy: { file: 'test/side-by-side.test.ts', name: 'parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)' },
  },
  {
    name: 'occurrence by arrival',
    rule: 'R1',
    wrong: 'Where a response repeats a call id, the call that executes first is taken for the first that was asked for.',
    file: 'src/replay/branch.ts',
    edits: [{ from: 'calls.find((call) => call.fingerprint === fingerprint) ??\n    calls.find((call) => recordOf(call.id)?.fingerprint === fingerprint) ??\n    calls.find((call) => !recordOf(call.id)) ??', to: '' }],
    caughtBy: { file: 'src/replay/machine.test.ts', name: 'is told apart by arguments where an id repeats within one response' },
  },
  {
    name: 'overlap not recorded',
    rule: 'R1',
    wrong: 'No record says which steps it overlapped.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'if (ticket.ref.slot === undefined) return {}', to: 'if (ticket) return {}' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'three reviewers with one prompt and other instructions get no swapped answers, also after one text is edited (C34)' },
  },
  {
    name: 'ambiguous requests let through',
    rule: 'R1',
    wrong: 'A request with tools may overlap another step of its branch, and nothing tells their continuations apart.',
    file: 'src/replay/refusal.ts',
    edits: [{ from: 'claim.model.tools.length > 0 && other)', to: 'claim.model.tools.length > 0 && other && other.claimedAt < 0)' }],
    caughtBy: { file: 'test/side-by-side.test.ts', name: 'two loops with tools in one branch are refused at the second claim, and what the first did is kept (C16b)' },
  },
  {
    name: 'twin steps let through',
    rule: 'R1',
    wrong: 'Two open steps of one name without key or input are not refused.',
    file: 'src/replay/refusal.ts',
    edits: [{ from: 'if (!twin) return undefined', to: 'if (twin ?? true) return undefined' }],
    caughtBy: { file: 'test/side-by-side.test.ts', name: 'steps of one name without key or input are refused when they overlap; with a key they are right (C16d)' },
  },
  {
    name: 'branches share a line',
    rule: 'R1',
    wrong: 'What is asked for in a branch is numbered in the main line.',
    file: 'src/runner/run.ts',
    edits: [{ from: "context?.drive === drive ? context.branch : ''", to: "context?.drive === drive ? '' : ''" }],
    caughtBy: { file: 'test/side-by-side.test.ts', name: 'two loops in branches replay wholly' },
  },
  {
    name: 'occurrences of a key are one',
    rule: 'R1',
    wrong: 'A keyed step that is opened again after its end is given the record of the first.',
    file: 'src/replay/branch.ts',
    edits: [{ from: 'count: this.occurrenceOf(place) + 1', to: 'count: 0' }],
    caughtBy: { file: 'src/replay/machine-branches.test.ts', name: 'opened again after the end are the next occurrence' },
  },
  {
    name: 'refused claims take a number',
    rule: 'R1',
    wrong: 'A claim that is refused counts all the same, so the next one stands at another number.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'const refused = ambiguity(branch, claim, slot)\n    if (refused) return refused\n    if (slot !== undefined)', to: 'const refused = ambiguity(branch, claim, slot)\n    if (refused && slot !== undefined) branch.claimSlot(slot)\n    if (refused) return refused\n    if (slot !== undefined)' }],
    caughtBy: { file: 'src/replay/machine-overlap.test.ts', name: 'a refused claim takes no number' },
  },
]
