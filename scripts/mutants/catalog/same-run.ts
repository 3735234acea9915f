/** R7: the same run is the same thing. */
import type { Mutant } from '../mutant.ts'

export const sameRun: readonly Mutant[] = [
  {
    name: 'mismatch let through',
    rule: 'R7',
    wrong: 'A run id is used with another input or version, and the old answer is given.',
    file: 'src/runner/open.ts',
    edits: [{ from: 'mismatches.length > 0 && !request.allowMismatch', to: 'mismatches.length > 0 && request.runId.length < 0' }],
    caughtBy: { file: 'test/bad-input.test.ts', name: 'another input, another version: named before the handler starts, allowed by a flag (C10)' },
  },
  {
    name: 'finished run driven again',
    rule: 'R7',
    wrong: 'A completed run is driven instead of giving its recorded result.',
    file: 'src/runner/open.ts',
    edits: [{ from: 'const ended = request.redo === undefined ? endOf(runId, entries) : undefined', to: 'const ended = request.redo === undefined ? undefined : undefined' }, { from: 'const end = endOf(runId, rest.entries)', to: 'const end = endOf(runId, [])' }],
    caughtBy: { file: 'test/bad-input.test.ts', name: 'a finished run gives its recorded result and calls nothing (C9)' },
  },
  {
    name: 'failed run finished',
    rule: 'R7',
    wrong: 'A run that failed gives its error for ever instead of being driven again.',
    file: 'src/runner/open.ts',
    edits: [{ from: "last?.type !== 'run-ended' || last.status === 'failed'", to: "last?.type !== 'run-ended'" }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'a step whose error failed it is asked again, and what ran before it is not (C12)' },
  },
]
