/** R10: suspend is one mechanism. */
import type { Mutant } from '../mutant.ts'

export const suspend: readonly Mutant[] = [
  {
    name: 'suspended while a branch can go on',
    rule: 'R10',
    wrong: 'One step that waits suspends the run, although another branch is at work.',
    file: 'src/run/drive.ts',
    edits: [
      { from: 'this.#waiting.size === 0 || this.#running().length > 0) return', to: 'this.#waiting.size === 0) return' },
      { from: 'if (this.#running().length > 0 || this.#waiting.size === 0) return', to: 'if (this.#waiting.size === 0) return' },
    ],
    caughtBy: { file: 'test/nested.test.ts', name: 'one branch waits for a person, another goes on to its end before the run suspends (D15)' },
  },
  {
    name: 'held open by what stands around it',
    rule: 'R10',
    wrong: 'A tool whose inner step waits counts as at work, so the run never suspends.',
    file: 'src/run/drive.ts',
    edits: [{ from: 'for (const { ref } of this.#waiting.keys()) for (const path of around(ref.branch)) held.add(path)', to: '' }],
    caughtBy: { file: 'test/nested.test.ts', name: 'suspends the run, although the tool around it is open, and goes on inside after the decision' },
  },
  {
    name: 'waiting counts as tool time',
    rule: 'R10',
    wrong: 'A tool times out while something inside it waits for a person.',
    file: 'src/run/drive.ts',
    edits: [{ from: 'this.#pauses.set(step, pause)', to: '' }],
    caughtBy: { file: 'test/nested.test.ts', name: 'does not count as the time of the tool around it (R10)' },
  },
  {
    name: 'suspended run throws',
    rule: 'R10',
    wrong: 'What is asked for after the run has suspended fails, and the handler acts on that.',
    file: 'src/run/drive.ts',
    edits: [{ from: 'if (this.#hasReturned) return this.#refuse(', to: 'if (this.#over) return this.#refuse(' }],
    caughtBy: { file: 'test/owners.test.ts', name: 'what its handler still asks for never settles: nobody acts on an end that there was not (R10)' },
  },
  {
    name: 'suspension announced before durable',
    rule: 'R10',
    wrong: 'A run tells why it waits before that is written down.',
    file: 'src/runner/drive-attempt.ts',
    edits: [{ from: "await close(opened, [{ type: 'suspended', reasons: reasons.map(keptReason), resumeAt }]", to: "attempt.emit({ type: 'run-suspended', reasons, resumeAt })\n    await close(opened, [{ type: 'suspended', reasons: reasons.map(keptReason), resumeAt }]" }],
    caughtBy: { file: 'test/durable.test.ts', name: 'nobody is told that the run is suspended' },
  },
  {
    name: 'Retry-After forgotten by the next attempt',
    rule: 'R10',
    wrong: 'A run that suspended for a Retry-After asks too early when it is resumed.',
    file: 'src/run/attempt.ts',
    edits: [{ from: 'this.#notBefore.set(reason.step, reason)', to: '' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'is kept by the next attempt too, within the same budget of tries (A9, A10)' },
  },
]
