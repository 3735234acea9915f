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
  {
    name: 'one input for all drives',
    rule: 'R7',
    wrong: 'A handler that is driven again is given the input as the drive before has left it.',
    file: 'src/runner/drive-attempt.ts',
    edits: [
      { from: '  const { attempt, lease } = opened\n', to: "  const { attempt, lease } = opened\n  const shared = decode(opened.input, 'input')\n" },
      { from: 'driveOnce(opened, current.drive)', to: 'driveOnce({ ...opened, input: shared }, current.drive)' },
      { from: "handler(runOf(drive), decode(input, 'input'))", to: 'handler(runOf(drive), input)' },
    ],
    caughtBy: { file: 'test/shared-objects.test.ts', name: 'is as it was recorded each time the handler is driven, also where it took things off it the time before' },
  },
  {
    name: 'arguments as the last try left them',
    rule: 'R7',
    wrong: 'A tool that is tried again is given what the try before has made of its arguments, and so are the messages of the loop.',
    file: 'src/ai-sdk/tools.ts',
    edits: [{ from: 'execute.call(tool, copyOf(given), {', to: 'execute.call(tool, given, {' }],
    caughtBy: { file: 'test/shared-objects.test.ts', name: 'are those that were asked with in each try, also where the one before has taken things off them' },
  },
]
