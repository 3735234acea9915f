/** R12: what stands inside of what is cut is cut with it, and its effects are in doubt. */
import type { Mutant } from '../mutant.ts'

const test = 'test/cut.test.ts'

export const cut: readonly Mutant[] = [
  {
    name: 'a wait that is over at once, again and again',
    rule: 'R11',
    wrong: 'A step that waits inside of what has timed out looks again without end, and keeps its process busy.',
    file: 'src/run/live.ts',
    edits: [{ from: 'if (drive.dropIfLeft(ticket, spec.signal)) return\n      attempt.emit', to: 'attempt.emit' }, { from: 'spec.around?.aborted ? undefined : spec.around', to: 'spec.around' }],
    caughtBy: { file: 'test/kept-waits.test.ts', name: 'a wait whose surroundings time out ends with them, and does not keep the process busy' },
  },
  {
    name: 'the clock of what is held up',
    rule: 'R10',
    wrong: 'A step that an ended drive has left behind times out there, and is tried again beside the drive that asks for it anew.',
    file: 'src/run/drive.ts',
    edits: [{ from: 'if (this.#over) this.#stopClocks()', to: '' }],
    caughtBy: { file: 'test/nested.test.ts', name: 'a step that a broken stream has left behind is neither timed out nor tried again beside the drive that asks for it anew' },
  },
  {
    name: 'effect left running inside',
    rule: 'R6',
    wrong: 'An effect inside of a tool that was cut goes on as if somebody waited for it, and the next call of it starts.',
    file: 'src/run/live.ts',
    edits: [{ from: "const open = ticket.ref.kind === 'agent' ? [] : await", to: "const open = ticket.ref.kind !== 'model' ? [] : await" }],
    caughtBy: { file: test, name: 'is in doubt: asked for again through billing it does not start, and is answered with what comes of the first' },
  },
  {
    name: 'effect left by a step that gives up by itself',
    rule: 'R6',
    wrong: 'A step that gives a value without waiting for an effect inside of it leaves that as if somebody waited for it.',
    file: 'src/run/live.ts',
    edits: [{ from: '    await leaveOpenInside(drive, ticket, spec)\n', to: '' }],
    caughtBy: { file: test, name: 'leaves it in doubt where it gives a value' },
  },
  {
    name: 'record before those inside',
    rule: 'R6',
    wrong: 'A tool that was cut has its record before it is recorded that an effect inside of it is in doubt.',
    file: 'src/run/surroundings.ts',
    edits: [{ from: '  await attempt.clock.idle()\n', to: '' }],
    caughtBy: { file: test, name: 'has its record before that of the tool, which answers for all that it holds' },
  },
  {
    name: 'effect not told to stop with its step',
    rule: 'R12',
    wrong: 'The signal of an effect does not abort with the step around it.',
    file: 'src/run/live.ts',
    edits: [{ from: 'const signal = anyOf(ofTry, spec.around)', to: 'const signal = ofTry' }],
    caughtBy: { file: test, name: 'aborts with the step around it; an effect that throws for that is in doubt, whatever it throws' },
  },
  {
    name: 'request goes on inside',
    rule: 'R12',
    wrong: 'A request inside of what was cut is waited for, and its run with it.',
    file: 'src/run/live.ts',
    edits: [{ from: 'drive.openEffects.begin(ticket, spec.label) : spec.around', to: 'drive.openEffects.begin(ticket, spec.label) : undefined' }],
    caughtBy: { file: test, name: 'a request that hangs ends with it, and so does its run' },
  },
  {
    name: 'request that was cut recorded',
    rule: 'R4',
    wrong: 'A request that was cut short with the step around it is recorded as failed, and fails the next try of that step.',
    file: 'src/run/live.ts',
    edits: [{ from: "execution.ending === 'cancelled' && spec.around?.aborted && ", to: "execution.ending !== 'cancelled' && spec.around?.aborted && " }],
    caughtBy: { file: test, name: 'has no record: the next try of the step asks for it anew' },
  },
  {
    name: 'question of what was cut',
    rule: 'R10',
    wrong: 'A run suspends for what waits inside of a step that nobody waits for.',
    file: 'src/run/live.ts',
    edits: [{ from: '    drive.dropWaiting(branch.path)\n', to: '' }],
    caughtBy: { file: test, name: 'waits no more: nobody is asked about it, and the time of the steps around goes on' },
  },
  {
    name: 'time stands still for work',
    rule: 'R12',
    wrong: 'While a try waits for what the one before left running, its time limit does not count.',
    file: 'src/run/live.ts',
    edits: [{ from: ', { isWork: true })', to: ')' }],
    caughtBy: { file: test, name: 'is given up where what hangs is waited for by the next try: that has a time limit, too' },
  },
]
