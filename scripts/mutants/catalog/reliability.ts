/** R11 to R13: one retry loop, timeouts that return, streams that are never partly a success. */
import type { Mutant } from '../mutant.ts'

export const reliability: readonly Mutant[] = [
  {
    name: 'retried by the layer above',
    rule: 'R11',
    wrong: 'An error that was retried here is thrown so that the loop above retries it again.',
    file: 'src/ai-sdk/model.ts',
    edits: [{ from: 'if (HoldfastError.isInstance(error)) return error\n  const message', to: 'if (error) return error\n  const message' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'make exactly maxAttempts requests, whatever maxRetries says (A9)' },
  },
  {
    name: 'hint of the server undercut',
    rule: 'R11',
    wrong: 'A Retry-After is not waited for.',
    file: 'src/reliability/execute.ts',
    edits: [{ from: 'options.random, classification.retryAfterMs)', to: 'options.random, null)' }],
    caughtBy: { file: 'src/reliability/execute.test.ts', name: 'never asks again earlier than the server said, also above the cap of the backoff' },
  },
  {
    name: 'unknown errors retried',
    rule: 'R11',
    wrong: 'An error that nobody knows is tried again.',
    file: 'src/reliability/execute.ts',
    edits: [{ from: "if (!retryable || category === 'cancelled'", to: "if ((!retryable && category !== 'unknown') || category === 'cancelled'" }],
    caughtBy: { file: 'src/reliability/execute.test.ts', name: 'does not retry an unknown error' },
  },
  {
    name: 'work not told of its timeout',
    rule: 'R12',
    wrong: 'Work that has timed out goes on, since its signal does not abort.',
    file: 'src/reliability/try.ts',
    edits: [{ from: "if (outcome.type === 'limit' || outcome.type === 'cancelled') controller.abort", to: "if (outcome.type === 'cancelled') controller.abort" }],
    caughtBy: { file: 'src/reliability/execute.test.ts', name: 'does not call work abandoned that has settled by the time of a later try' },
  },
  {
    name: 'silent retry after parts were passed on',
    rule: 'R13',
    wrong: 'A stream that breaks in the middle is asked for again, and its texts are joined.',
    file: 'src/ai-sdk/model.ts',
    edits: [{ from: 'mayRetry: () => !out.started', to: 'mayRetry: () => true' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'by a reset after two deltas is driven again, and no text is joined (A2)' },
  },
  {
    name: 'cut stream is an answer',
    rule: 'R13',
    wrong: 'A stream that ends without a finish is recorded as a whole answer.',
    file: 'src/ai-sdk/stream.ts',
    edits: [{ from: "if (!finished) throw new BrokenResponseError('it ended before it was finished')", to: '' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'by a clean cut after two deltas is driven again, and no text is joined (A2)' },
  },
  {
    name: 'error part passed on',
    rule: 'R13',
    wrong: 'An error in a stream is passed on as if it were a part of the answer.',
    file: 'src/ai-sdk/stream.ts',
    edits: [{ from: "if (part.type === 'error') throw asBroken(part.error)", to: '' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'is an error for who reads fullStream' },
  },
  {
    name: 'final failure is the end of a text',
    rule: 'R13',
    wrong: 'A stream whose step failed just ends, so that a partial text looks like a success.',
    file: 'src/ai-sdk/stream.ts',
    edits: [{ from: 'this.#controller!.error(error)', to: 'this.#controller!.close()' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'is an error for who reads textStream' },
  },
]
