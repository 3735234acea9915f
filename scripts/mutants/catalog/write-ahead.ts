/** R2: a step with effects has a durable `started` record before its code is called. */
import type { Mutant } from '../mutant.ts'

export const writeAhead: readonly Mutant[] = [
  {
    name: 'no write-ahead',
    rule: 'R2',
    wrong: 'A step with effects is called without a record that it starts.',
    file: 'src/run/live.ts',
    edits: [{ from: 'if (!(await writeAhead(', to: 'if (!effect && !(await writeAhead(' }],
    caughtBy: { file: 'test/doubt.test.ts', name: 'waits, names the call and the ways out, and has called nothing' },
  },
  {
    name: 'write-ahead not waited for',
    rule: 'R2',
    wrong: 'The code is called while its record is still on its way.',
    file: 'src/run/live.ts',
    edits: [{ from: 'if (!(await writeAhead(drive, ticket, spec, { idempotencyKey, consumes }))) return', to: 'void writeAhead(drive, ticket, spec, { idempotencyKey, consumes })' }],
    caughtBy: { file: 'test/doubt.test.ts', name: 'before the write-ahead record: the tool was not called, and is called once (R2)' },
  },
  {
    name: 'refused write-ahead ignored',
    rule: 'R2',
    wrong: 'When the store refuses the record, the code is called all the same.',
    file: 'src/run/write-ahead.ts',
    edits: [{ from: 'else await drive.hold(', to: 'else void (' }, { from: 'return false', to: 'return !isLost(error) && !isOfRecord(error)' }],
    caughtBy: { file: 'test/durable.test.ts', name: 'is not called; the run waits, and goes on when the store takes it (R2)' },
  },
  {
    name: 'tools idempotent by default',
    rule: 'R2',
    wrong: 'A tool that says nothing is taken for one that may be called twice.',
    file: 'src/ai-sdk/tools.ts',
    edits: [{ from: 'const hasEffects = !policy.idempotent', to: 'const hasEffects = policy.reconcile !== undefined && !policy.idempotent' }],
    caughtBy: { file: 'test/doubt.test.ts', name: 'waits, names the call and the ways out, and has called nothing' },
  },
  {
    name: 'composite tools in doubt',
    rule: 'R2',
    wrong: 'A tool whose inner steps are its only effects is taken for an effect itself.',
    file: 'src/ai-sdk/tools.ts',
    edits: [{ from: '!policy.idempotent && !policy.composite', to: '!policy.idempotent' }],
    caughtBy: { file: 'test/nested.test.ts', name: 'suspends the run, although the tool around it is open, and goes on inside after the decision' },
  },
  {
    name: 'hosted tools without effects',
    rule: 'R2',
    wrong: 'A request that offers provider-executed tools is sent again after a kill.',
    file: 'src/ai-sdk/model.ts',
    edits: [{ from: "tool.type === 'provider')", to: "tool.type !== 'provider' && tool.type !== 'function')" }],
    caughtBy: { file: 'test/acceptance/hosted-tools.test.ts', name: 'is in doubt, is not silently sent again, and the reason says what each way out means' },
  },
]
