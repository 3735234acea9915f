/** R4: what is recorded answers, in the order in which it was recorded; what failed the run does not. */
import type { Mutant } from '../mutant.ts'

export const replay: readonly Mutant[] = [
  {
    name: 'delivered as asked for',
    rule: 'R4',
    wrong: 'Recorded results are handed out in the order in which they are asked for, not in that of their records.',
    file: 'src/replay/order.ts',
    edits: [{ from: 'while (at > 0 && this.#ready[at - 1]!.seq > item.seq) at--', to: '' }],
    caughtBy: { file: 'src/replay/machine.test.ts', name: 'are handed out in the order in which they were recorded' },
  },
  {
    name: 'nothing held back',
    rule: 'R4',
    wrong: 'A younger record does not wait for an older one that is still expected.',
    file: 'src/replay/order.ts',
    edits: [{ from: "if (older) return { type: 'hold', for: older.ref.id }", to: '' }],
    caughtBy: { file: 'src/replay/order.test.ts', name: 'holds a younger one back while an older one may still be asked for' },
  },
  {
    name: 'held back for ever',
    rule: 'R4',
    wrong: 'A record that is not asked for any more holds younger ones back without an end.',
    file: 'src/replay/order.ts',
    edits: [{ from: 'this.#inVain.add(older.ref.id)\n      this.#givenUp.add(older.ref.branch)', to: 'break' }],
    caughtBy: { file: 'src/replay/order.test.ts', name: 'never waits for ever: after giving up, nothing older holds it back' },
  },
  {
    name: 'a hole is a divergence',
    rule: 'R4',
    wrong: 'A step whose record is missing, beside others that have theirs, ends replay in its branch.',
    file: 'src/replay/match.ts',
    edits: [{ from: "if (hole !== undefined) return { type: 'hole'", to: "if (hole !== undefined && !branch) return { type: 'hole'" }],
    caughtBy: { file: 'src/replay/machine-branches.test.ts', name: 'G3: killed after the second of two equal ones, that one replays' },
  },
  {
    name: 'errors not replayed',
    rule: 'R4',
    wrong: 'A step that ended with an error is asked for again, although the handler caught it.',
    file: 'src/replay/machine.ts',
    edits: [{ from: "if (!record.end) return { type: 'live'", to: "if (!record.end || record.end.outcome.type === 'error') return { type: 'live'" }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'a step error that the handler caught replays as it was (C13)' },
  },
  {
    name: 'failure replayed',
    rule: 'R4',
    wrong: 'The error that failed a run answers the same step again, for ever.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'const ids = [failed.ref.id]', to: 'const ids: string[] = []' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'a step whose error failed it is asked again, and what ran before it is not (C12)' },
  },
  {
    name: 'clean-up replayed',
    rule: 'R4',
    wrong: 'What the handler did after it had caught the failure answers the next attempt, which takes another way.',
    file: 'src/replay/machine.ts',
    edits: [{ from: 'if (ticket.claimedAt > since) ids.push(ticket.ref.id)', to: 'if (ticket.claimedAt > since && !ticket) ids.push(ticket.ref.id)' }],
    caughtBy: { file: 'src/replay/machine-failure.test.ts', name: 'everything before the failing step, not the step, and not what was asked for after its error' },
  },
  {
    name: 'blamed response replayed',
    rule: 'R4',
    wrong: 'A response that does not validate is replayed, so that the run fails on it for ever.',
    file: 'src/run/blame.ts',
    edits: [{ from: 'this.#responses.set(responseId, step)', to: '' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'a response that does not validate is not replayed for ever (C36)' },
  },
]
