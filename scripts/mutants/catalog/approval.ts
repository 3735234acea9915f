/** R10: calls that somebody has to agree to. */
import type { Mutant } from '../mutant.ts'

export const approval: readonly Mutant[] = [
  {
    name: 'a condition that fails lets pass',
    rule: 'R10',
    wrong: 'Where nobody can say whether a call needs approval, it is made without.',
    file: 'src/run/approval.ts',
    edits: [{ from: 'somebody is asked`, ticket.ref.id)\n  return true', to: 'somebody is asked`, ticket.ref.id)\n  return false' }],
    caughtBy: { file: 'test/approvals.test.ts', name: 'fails closed: somebody is asked, with a warning, where it throws' },
  },
  {
    name: 'an answer to whatever is asked',
    rule: 'R10',
    wrong: 'An answer that comes counts for the question that stands at its step by then.',
    file: 'src/run/inbox.ts',
    edits: [{ from: 'question?.seq !== message.question ||', to: 'question === undefined ||' }],
    caughtBy: { file: 'src/run/inbox.test.ts', name: 'takes an answer to one that was asked anew since, of another call perhaps' },
  },
  {
    name: 'an approval of other arguments',
    rule: 'R10',
    wrong: 'What was approved for a call lets another one pass that has its id by now and asks for something else.',
    file: 'src/effects/approvals.ts',
    edits: [{ from: 'question?.step.name === name && question.fingerprint === fingerprint', to: 'question?.step.name === name && fingerprint !== undefined' }],
    caughtBy: { file: 'src/effects/approvals.test.ts', name: 'is about the very call: not about one of other arguments, or of another tool, at its place' },
  },
  {
    name: 'a denial forgotten',
    rule: 'R10',
    wrong: 'A run that failed with a denial asks about the same call again when it is driven again.',
    file: 'src/runner/drive-attempt.ts',
    edits: [{ from: ' || (step !== undefined && attempt.history.approvals.isDenied(step))', to: '' }],
    caughtBy: { file: 'test/approvals-resumed.test.ts', name: 'keeps it when it is driven again: what somebody did not agree to is not asked about again' },
  },
  {
    name: 'an answer lost to the clock',
    rule: 'R10',
    wrong: 'A call counts as denied by its time although its answer came before that and has not been looked at yet.',
    file: 'src/run/approval.ts',
    edits: [{ from: 'hasExpired(question, attempt.inboxTakenAt)', to: 'hasExpired(question, attempt.clock.now())' }],
    caughtBy: { file: 'test/approvals.test.ts', name: 'that was approved in time is made although its run, which was driven meanwhile, comes to it only then' },
  },
  {
    name: 'made as it was asked for',
    rule: 'R10',
    wrong: 'A call that was approved with other arguments is made with those that the model asked for.',
    file: 'src/ai-sdk/tools.ts',
    edits: [{ from: 'toolSpec(at!, name, resolved, given, call, work(given))', to: 'toolSpec(at!, name, resolved, given, call, work(input))' }],
    caughtBy: { file: 'test/approvals.test.ts', name: 'is made with the arguments that were approved, as its schema makes them; what it is known by stays what was asked' },
  },
  {
    name: 'asked about a call that was cut',
    rule: 'R10',
    wrong: 'Somebody is asked about a call that nobody waits for any more, because its condition was thought about when what it stands in was cut.',
    file: 'src/run/drive.ts',
    edits: [{ from: 'if (this.#over || !(isAbandoned || signal?.aborted)) return false', to: 'if (this.#over || !signal?.aborted) return false' }],
    caughtBy: { file: 'test/approvals-resumed.test.ts', name: 'when what the call stands in is cut: nobody is asked, the call is not made, and the run goes on' },
  },
  {
    name: 'nobody to be asked',
    rule: 'R10',
    wrong: 'Outside of a run, where nobody can be asked, a call that needs approval is made.',
    file: 'src/ai-sdk/tools.ts',
    edits: [{ from: '      if (policy.approval) return withoutApproval(name, policy, asked, () => execute.call(tool, asked, call))\n', to: '' }],
    caughtBy: { file: 'test/approvals.test.ts', name: 'outside of a run: it is not called, unless its condition says that it needs none' },
  },
]
