/** R16: limits count the run, not the attempt. */
import type { Mutant } from '../mutant.ts'

export const limits: readonly Mutant[] = [
  {
    name: 'replayed usage counted',
    rule: 'R16',
    wrong: 'A step that is answered from the journal uses up the limits once more.',
    file: 'src/run/drive.ts',
    edits: [{
      from: 'if (replayed) {\n',
      to: "if (replayed) {\n      this.attempt.budget.apply({ type: 'step-ended', step: ticket.ref, tries: 1, ms: 0, at: this.attempt.clock.now() } as never)\n",
    }],
    caughtBy: { file: 'test/limits.test.ts', name: 'is not reached anew by a resume, replays under a spent budget, and goes on under a higher one without repeating anything' },
  },
  {
    name: 'a resume starts at zero',
    rule: 'R16',
    wrong: 'What earlier attempts used does not count.',
    file: 'src/runner/open.ts',
    edits: [{ from: 'history.apply(entry, seq)\n    budget.apply(entry)', to: 'history.apply(entry, seq)' }],
    caughtBy: { file: 'test/limits.test.ts', name: 'is not reached anew by a resume, replays under a spent budget, and goes on under a higher one without repeating anything' },
  },
  {
    name: 'time anew for each attempt',
    rule: 'R16',
    wrong: 'The active time of earlier attempts does not count.',
    file: 'src/run/usage.ts',
    edits: [{ from: 'this.#formerMs = this.activeMs()', to: 'this.#formerMs = 0' }],
    caughtBy: { file: 'test/run-time.test.ts', name: 'adds up over its attempts; while it is suspended, it stands still' },
  },
  {
    name: 'tokens not looked at',
    rule: 'R16',
    wrong: 'A model request starts although the tokens of the run are used up.',
    file: 'src/run/budget.ts',
    edits: [{ from: "kind === 'model' && tokens >= maxTokens", to: "kind === 'agent' && tokens >= maxTokens" }],
    caughtBy: { file: 'test/limits.test.ts', name: 'lets no model request start once they are used, over all attempts; tools still run' },
  },
  {
    name: 'limits of the process alone',
    rule: 'R16',
    wrong: 'A limit that a run was given is forgotten with the process that it was given to.',
    file: 'src/run/limits.ts',
    edits: [{ from: 'given = { ...given, ...entry.limits }', to: 'given = { ...given }' }],
    caughtBy: { file: 'test/limits.test.ts', name: 'is kept with the run that it was given to: a process that dies takes it to nobody' },
  },
  {
    name: 'calls that fit dropped',
    rule: 'R16',
    wrong: 'Of calls that are asked for at once none runs where one is too many, and all count as used.',
    file: 'src/run/live.ts',
    edits: [{ from: '    await attempt.options.writer.settled()\n    await attempt.clock.idle()\n', to: '' }],
    caughtBy: { file: 'test/limits.test.ts', name: 'lets the calls of one response run that fit, and counts what ran: effects' },
  },
]
