/** The situations that the software must get right, and the tests that say so. docs/testing.md has them as a table. */

export interface Row {
  readonly id: string
  readonly what: string
  /** By file, titles of tests or of groups of tests, as they stand there. */
  readonly tests: Readonly<Record<string, readonly string[]>>
}

const at = 'test/acceptance'

export const ROWS: readonly Row[] = [
  { id: 'A1', what: 'an error event before any content', tests: { 'test/streams.test.ts': ['before its first content is tried again silently (A1)'] } },
  { id: 'A2', what: 'the same after two deltas', tests: { 'test/streams.test.ts': ['by ${how} after two deltas is driven again, and no text is joined (A2)', 'again and again ends within the same budget, as an error and never as a partial success (A2, A9)', 'is an error for who reads ${mode}'] } },
  { id: 'A8', what: 'a bare ECONNRESET, a status as a cause', tests: { 'test/wire/retries.test.ts': ['what is thrown without a class of a provider is retried like the rest (A8)'] } },
  { id: 'A9', what: 'retry layers above and below', tests: { 'test/wire/retries.test.ts': ['exactly maxAttempts requests in all, whatever the layers above are told (A9)'], 'test/streams.test.ts': ['make exactly maxAttempts requests, whatever maxRetries says (A9)'] } },
  { id: 'A10', what: 'a long Retry-After', tests: { 'test/streams.test.ts': ['a Retry-After beyond what is waited inline suspends the run until then, and it is never asked earlier (A10)', 'is kept by the next attempt too, within the same budget of tries (A9, A10)'], 'test/run-time.test.ts': ['fails a run that would have to wait beyond it, with the reason, in place of suspending it until then (A10)'] } },
  { id: 'A11', what: 'a Retry-After that no timer takes', tests: { 'test/wire/retries.test.ts': ['after a Retry-After that no timer takes, or that is garbage, is the own backoff, not an instant storm (A11)'] } },
  { id: 'A12', what: 'an abort in a backoff', tests: { 'test/wire/retries.test.ts': ['in a 3 s backoff ends with the abort, in the same turn, with its reason; one request, no timer left (A12, A13): %s'] } },
  { id: 'A13', what: 'the reason of an abort', tests: { 'test/wire/retries.test.ts': ['aborted by the caller of the loop is not retried, and keeps its reason (A13): %s'] } },
  { id: 'A14', what: 'an own timeout that looks like an abort', tests: { 'test/wire/retries.test.ts': ['a time limit is a timeout and no cancellation, though fetch says AbortError (A14)'] } },
  { id: 'A19', what: 'retries are exhausted in step 5', tests: { 'test/usage.test.ts': ['the error of a run whose retries are exhausted in step 5 (A19)'] } },
  { id: 'B1', what: 'a tool that ignores its signal', tests: { 'test/doubt.test.ts': ['a late result settles the doubt, and the next call is answered with it (B1)'] } },
  { id: 'B2', what: 'a model request without an answer', tests: { 'test/streams.test.ts': ['a model request without an answer times out and is tried again (B2)'] } },
  { id: 'B3', what: '2 s left, a tool that may take 30 s', tests: { 'test/run-time.test.ts': ['that may take 30 s has 2 s where the run has 2 s left (B3)'] } },
  { id: 'B7', what: 'a tool throws', tests: { 'test/doubt.test.ts': ['an error of the tool itself is an error for the model, and the run goes on (B7)'] } },
  { id: 'B8', what: 'an unknown tool, arguments that do not parse', tests: { 'test/streams.test.ts': ['an unknown tool and arguments that do not parse are observations, not the end (B8)'] } },
  { id: 'B9', what: 'the runner is closed with work in flight', tests: { 'test/owners.test.ts': ['a runner that is closed lets running steps end, starts none, and gives the lease back (B9)'] } },
  { id: 'B10', what: 'the handler returns before its tools end', tests: { 'test/owners.test.ts': ['steps that nobody waits for are recorded before the run ends (B10)'] } },
  { id: 'B11', what: 'the caller aborts', tests: { 'test/owners.test.ts': ['an abort of the caller ends the attempt with its own reason, keeps what was done, and the run can be resumed (B11)'] } },
  { id: 'C1', what: 'killed between the effect and the record of its result', tests: { 'test/doubt.test.ts': ['killed between the effect and its record (C1)'], [`${at}/streamed.test.ts`]: ['a streamed call that was killed between its effect and its record (C1)'], [`${at}/incomplete-tools.test.ts`]: ['onIncompleteTool of a call'], 'test/crash.test.ts': ['real processes, ended with SIGKILL'] } },
  { id: 'C2', what: 'the same, of an idempotent tool', tests: { 'test/doubt.test.ts': ['runs an idempotent tool again with the same key (C2)'] } },
  { id: 'C3', what: 'killed after the result was recorded', tests: { 'test/doubt.test.ts': ['after the result was recorded: replayed, called once overall (C3)'], 'src/replay/machine.test.ts': ['C3: killed after a result was recorded'] } },
  { id: 'C4', what: 'three tools in parallel, killed after two', tests: { [`${at}/identity.test.ts`]: ['three calls at once, killed after two have finished: those replay, the third is in doubt (C4)'] } },
  { id: 'C5', what: 'parallel tools that finish in reverse order', tests: { 'test/side-by-side.test.ts': ['parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)'], [`${at}/streamed.test.ts`]: ['tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)'] } },
  { id: 'C6', what: 'the same call at two steps', tests: { [`${at}/identity.test.ts`]: ['the same tool with the same arguments at two steps is executed both times, and each replays its own (C6)'] } },
  { id: 'C7', what: 'one call id for two calls', tests: { [`${at}/identity.test.ts`]: ['one call id for two calls of different responses: each has its own result (C7)', 'one call id for two calls of one response: both are executed, and each replays its own (C7)', 'one call id and equal arguments twice in one response: executed twice (C6, C7)'] } },
  { id: 'C8', what: 'killed while replaying, twice', tests: { [`${at}/restarts.test.ts`]: ['%s, killed while it replays, twice (C8)'], 'src/replay/machine.test.ts': ['C8: killed while replaying'] } },
  { id: 'C9', what: 'a finished run is asked for again', tests: { 'test/bad-input.test.ts': ['a finished run gives its recorded result and calls nothing (C9)'] } },
  { id: 'C10', what: 'the same run id, another input or version', tests: { 'test/bad-input.test.ts': ['another input, another version: named before the handler starts, allowed by a flag (C10)'] } },
  { id: 'C11', what: 'a deploy changes the configuration', tests: { [`${at}/configuration.test.ts`]: ['%s changed: recorded answers stand, and a warning names it (C11)', '%s changed, policy diverge: asked anew, the reason names it', '%s changed, policy refuse: CONFIG_CHANGED names it, nothing is asked, and the old code goes on', 'a change under which the recorded response would be refused'] } },
  { id: 'C11b', what: 'the conversation itself changes', tests: { 'test/divergence.test.ts': ['a conversation that changes between attempts (C11b)'], 'src/replay/machine-divergence.test.ts': ['C11b, R5: a changed conversation'] } },
  { id: 'C12', what: 'clean-up after the fatal error', tests: { [`${at}/failed-runs.test.ts`]: ['a run that %s failed (C12)'] } },
  { id: 'C13', what: 'the run recovered from the error of a step', tests: { [`${at}/control-outcomes.test.ts`]: ['a run that recovered from the error of a step (C13)'] } },
  { id: 'C14', what: 'control outcomes', tests: { [`${at}/control-outcomes.test.ts`]: ['in %s, what a call came to replays without the tool (C14):', 'in %s, approvals of the AI SDK replay without the tool (C14):'] } },
  { id: 'C15', what: 'an agent inside a tool, twice', tests: { 'test/side-by-side.test.ts': ['an agent inside a tool replays as a whole, and its second use finds its own steps (C15)'], [`${at}/streamed.test.ts`]: ['twice in a run: the first replays without starting, the second finds its own steps (C15)'] } },
  { id: 'C16', what: 'two loops in branches, killed anywhere', tests: { 'test/side-by-side.test.ts': ['two loops in branches replay wholly'], [`${at}/streamed.test.ts`]: ['two loops in branches, killed, replay wholly, no effect twice (C16)'], 'test/programs/programs.test.ts': ['random programs'] } },
  { id: 'C16b', what: 'two loops in one branch', tests: { 'test/side-by-side.test.ts': ['two loops with tools in one branch are refused at the second claim, and what the first did is kept (C16b)'], [`${at}/streamed.test.ts`]: ['two loops with tools in one branch are refused, however they are read (C16b)'] } },
  { id: 'C16c', what: 'a race, then a step that uses the winner', tests: { 'test/side-by-side.test.ts': ['a race has the same winner on replay (C16c)'] } },
  { id: 'C16d', what: 'steps of one name side by side, without key', tests: { 'test/side-by-side.test.ts': ['steps of one name without key or input are refused when they overlap; with a key they are right (C16d)'] } },
  { id: 'C17', what: 'a record that the store refuses', tests: { [`${at}/refused-records.test.ts`]: ['a record that the store refuses (C17)'] } },
  { id: 'C18', what: 'ten deploys in a row', tests: { [`${at}/restarts.test.ts`]: ['ten deploys in a row (C18)'], 'test/usage.test.ts': ['ten deploys in a row, with progress each time (C18)'] } },
  { id: 'C19', what: 'a call without a result in the messages', tests: { [`${at}/orphans.test.ts`]: ['a call without a result, in a loop of your own over %s (C19)', 'a call without a result, in %s (C19)'], 'src/ai-sdk/orphans.test.ts': ['calls without a result (C19)'] } },
  { id: 'C20', what: 'two results for one call', tests: { [`${at}/two-results.test.ts`]: ['the outcome of a call that is told twice (C20)'] } },
  { id: 'C21', what: 'every attempt ends with a summary', tests: { [`${at}/summaries.test.ts`]: ['an attempt ends with a summary (C21)'], 'src/run/describe-event.test.ts': ['of %s is one line for a log, with its run (C21)'] } },
  { id: 'C22', what: 'what a framework makes up anew', tests: { [`${at}/fingerprints.test.ts`]: ['what a framework makes up anew on each attempt does not diverge (C22):'], [`${at}/control-outcomes.test.ts`]: ['needed, then given: executed once, although the framework makes up another approval id on each attempt (C22)'] } },
  { id: 'C23', what: 'a user\'s own field called `timestamp`', tests: { [`${at}/fingerprints.test.ts`]: ["a user's own field counts, whatever it is called (C23):"] } },
  { id: 'C24', what: 'a streamed model step replays', tests: { 'test/divergence.test.ts': ['a streamed model step (C24)'] } },
  { id: 'C25', what: 'usage and limits over resumes', tests: { 'test/usage.test.ts': ['is right after any number of kills and resumes: what is replayed adds nothing (C25)'], 'test/limits.test.ts': ['is not reached anew by a resume, replays under a spent budget, and goes on under a higher one without repeating anything'] } },
  { id: 'C26', what: 'a named secret in arguments and results', tests: { 'test/secrets.test.ts': ['a secret in input, arguments, results, responses and errors of %s is stored by its name, and whole in the run, live and replayed (C26)', 'a secret that was rotated changes nothing that was recorded: all replays, with the new value in it'], 'src/journal/secrets.test.ts': ['%s is not in what is stored, and whole in what is read', '%s survives'] } },
  { id: 'C27', what: 'a refund times out, the model asks again', tests: { 'test/doubt.test.ts': ['a refund that times out is an observation, and a second one in other words does not start (C27)'], [`${at}/streamed.test.ts`]: ['holds back the next one, in %s, which is reconciled or waits (C27)'] } },
  { id: 'C28', what: 'a refund throws ECONNRESET after sending', tests: { 'test/doubt.test.ts': ['a thrown ECONNRESET is doubt, not failure, and is reconciled before the next start (C28)'] } },
  { id: 'C29', what: 'a run that kills its process each time', tests: { [`${at}/restarts.test.ts`]: ['a run that ends its process each time (C29)'] } },
  { id: 'C30', what: 'a file behind a link that has expired', tests: { [`${at}/linked-files.test.ts`]: ['whose link has expired when the run resumes: everything replays, and nothing is fetched (C30)', 'whose link has expired when the run goes on live: later requests have the file from the journal'] } },
  { id: 'C31', what: 'a request with hosted tools, killed in flight', tests: { [`${at}/hosted-tools.test.ts`]: ['a request with hosted tools, killed in flight, asked by %s (C31)', 'a request with hosted tools'] } },
  { id: 'C32', what: 'two sub-agents as tools, in parallel', tests: { 'test/nested.test.ts': ['two sub-agents as tools, in parallel in one response (C32)'] } },
  { id: 'C33', what: 'only a part is asked for again', tests: { 'src/replay/machine.test.ts': ['C33: an older record is not asked for any more'], 'test/side-by-side.test.ts': ['parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)'] } },
  { id: 'C34', what: 'three reviewers with one prompt', tests: { 'test/divergence.test.ts': ['three reviewers with one prompt and other instructions get no swapped answers, also after one text is edited (C34)'] } },
  { id: 'C35', what: 'repair of a call re-asks the model', tests: { 'test/repair.test.ts': ['a repair that re-asks the model with its tools, in ${mode}'] } },
  { id: 'C36', what: 'an output that does not validate', tests: { [`${at}/failed-runs.test.ts`]: ['an output of %s that does not validate (C36)', 'a response that does not heed the tool choice (C36)', 'an output that the handler refuses by itself (C36)'] } },
  { id: 'C37', what: 'data from outside of any step', tests: { [`${at}/outside-data.test.ts`]: ['what is looked up outside of steps and gets into the conversation (C37)'] } },
  { id: 'C38', what: 'an effect of the clean-up, driven again', tests: { [`${at}/failed-runs.test.ts`]: ['an effect of the clean-up (C38)'] } },
  { id: 'C39', what: 'a model that is not wrapped', tests: { 'test/nested.test.ts': ['a model that is not wrapped: the calls of wrapped tools are ordinary steps, with one warning (C39)'], [`${at}/streamed.test.ts`]: ['a streaming model that is not wrapped, with wrapped tools (C39)'] } },
  { id: 'E1', what: 'a result with effects that cannot be stored', tests: { [`${at}/values.test.ts`]: ['%s of a tool with effects: it succeeded, the model is told so and why the result is missing, it is never run again (E1, E5)', '%s of a step with effects: RESULT_NOT_STORED, which says that it succeeded, also when it replays (E1, E5)', 'of an effect that completed: it is not made again without a decision when the conversation has changed (E1)'] } },
  { id: 'E2', what: 'Date, Map, Error, undefined, -0 and the like', tests: { [`${at}/stored-values.test.ts`]: ['%s: equal live and replayed, as input, result of steps and tools, and of the run (E2)', 'an error that a step threw: name, message and class exactly, with its cause and code, live and replayed (E2)'], 'src/journal/codec.test.ts': ['values come back equal, live and replayed'] } },
  { id: 'E3', what: 'the same without effects, or in an input', tests: { [`${at}/values.test.ts`]: ['%s of an idempotent tool: one error with the path, not retried, and replayed (E3, E5)', '%s of a read: one error that can be caught, not retried (E3, E5)', '%s in the input of a step: one error with the path, before anything runs (E3)'] } },
  { id: 'E4', what: 'an unknown type tag in the store', tests: { [`${at}/stored-values.test.ts`]: ['an unknown type tag fails closed with its path: the handler is not called, nothing is changed (E4)'] } },
  { id: 'E5', what: 'a result over the limit', tests: { [`${at}/values.test.ts`]: ['%s of a tool with effects: it succeeded, the model is told so and why the result is missing, it is never run again (E1, E5)'], 'test/sizes.test.ts': ['a result that fits by itself, and not with all else of its step: the effect is completed, its caller is told why the result is missing', 'an input of a step with effects that is too large: VALUE_TOO_LARGE with step, size and limit, its code is not called, the run goes on', 'a journal that is too large ends its run as a limit does: all of it replays under a higher one'] } },
  { id: 'E6', what: 'NUL, lone surrogates, 4-byte characters', tests: { [`${at}/stored-values.test.ts`]: ['%s: read back exactly equal (E6)'] } },
  { id: 'E7', what: '__proto__ and constructor as keys', tests: { [`${at}/stored-values.test.ts`]: ['__proto__ and constructor as keys, %s: plain data (E7)'] } },
]

/** Situations of the sections whose rows are complete that the software does not handle yet. */
export const OPEN: Readonly<Record<string, string>> = {}

/** Sections of which every row stands here. */
export const COMPLETE = ['C', 'E'] as const

/** The table of docs/testing.md. */
export function table(): string {
  const tests = ({ tests: byFile }: Row): string => Object.keys(byFile).map((file) => `[${file.slice(file.lastIndexOf('/') + 1)}](../${file})`).join(', ')
  return ['| | situation | tests |', '|---|---|---|', ...ROWS.map((row) => `| ${row.id} | ${row.what} | ${tests(row)} |`)].join('\n')
}
