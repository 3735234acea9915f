/** R3: a result is durable before it is returned, used or announced. */
import type { Mutant } from '../mutant.ts'

export const durable: readonly Mutant[] = [
  {
    name: 'announced before durable',
    rule: 'R3',
    wrong: 'A result is handed out while its record is still on its way.',
    file: 'src/run/record.ts',
    edits: [{ from: 'seq = await attempt.writeStep([...consumed(ref.id, consumes), entry], recordName(drive, spec, ref.id))', to: 'seq = 1e9\n    attempt.write([...consumed(ref.id, consumes), entry]).catch(() => {})' }],
    caughtBy: { file: 'test/durable.test.ts', name: 'the result is neither handed out nor announced' },
  },
  {
    name: 'finish of a stream before its record',
    rule: 'R3',
    wrong: 'A stream says that it is finished before the step is durable.',
    file: 'src/ai-sdk/stream.ts',
    edits: [
      { from: "if (part.type === 'finish') finished = true", to: "if (part.type === 'finish') {\n        finished = true\n        out.pass(kept, headers)\n      }" },
      { from: "parts.filter(({ type }) => type === 'finish')", to: '[]' },
    ],
    caughtBy: { file: 'test/durable.test.ts', name: 'a stream has given its text, and not its finish' },
  },
  {
    name: 'end of a run before its record',
    rule: 'R3',
    wrong: 'A run tells that it is completed before that is durable.',
    file: 'src/runner/drive-attempt.ts',
    edits: [{ from: "await close(opened, [{ type: 'run-ended', status: 'completed', result }]", to: "attempt.emit({ type: 'run-completed', result: decode(result, 'result') })\n  await close(opened, [{ type: 'run-ended', status: 'completed', result }]" }],
    caughtBy: { file: 'test/durable.test.ts', name: 'nobody is told that the run is completed' },
  },
  {
    name: 'known before durable',
    rule: 'R3',
    wrong: 'What is known of a run includes what the store has not taken yet.',
    file: 'src/journal/writer.ts',
    edits: [{ from: 'const [{ patch, inboxSeq }] = writes as [Write]', to: 'for (const { entry, stored } of stamped) this.#onAppended(entry, stored.seq)\n      const [{ patch, inboxSeq }] = writes as [Write]' }],
    caughtBy: { file: 'src/journal/writer.test.ts', name: 'tells of nothing that the store refused' },
  },
  {
    name: 'a commit for each write',
    rule: 'R3',
    wrong: 'What is written in one turn of the event loop does not share a commit.',
    file: 'src/journal/writer.ts',
    edits: [{ from: 'if (shared.length > 1 &&', to: 'if (shared.length > 1e9 &&' }],
    caughtBy: { file: 'src/journal/writer.test.ts', name: 'lets what is written in one turn share an append, in order, and tells each write its place' },
  },
]
