/** What the oracle found wrong. */
export type ViolationKind =
  /** A step was answered with what another one gave. */
  | 'wrong-answer'
  /** A step with effects that may not run twice was started again, and nobody had decided that. */
  | 'repeated-effect'
  /** A step with effects was started while an earlier one of the same effect was in doubt. */
  | 'started-in-doubt'
  /** A call was started that somebody had to agree to, and nobody had, or with other arguments than those that were approved. */
  | 'unapproved'
  /** A call that was denied was started, or its caller was told something else; or one that nobody denied was told so. */
  | 'denial'
  /** A person is asked about a call that needs no approval, or a second time about the same one. */
  | 'needless-question'
  /** A person is asked about an effect whose outcome is known. */
  | 'needless-doubt'
  /** A tool with effects was started although the response that asks for it could not be recorded. */
  | 'started-unrecorded'
  /** An idempotent step was run again under another key, or two steps share one. */
  | 'idempotency-key'
  /** What was recorded ran again. */
  | 'not-replayed'
  /** What was recorded came out otherwise on replay. */
  | 'replayed-otherwise'
  /** Another racer wins on replay. */
  | 'race-changed'
  /** The result is not that of an undisturbed execution. */
  | 'result'
  /** A run that can go on is not found by whoever looks for such runs, or one that has failed is. */
  | 'not-recovered'
  /** The run does not come to an end. */
  | 'endless'
  /** An error that nothing in the program explains. */
  | 'unexpected-error'
  /** A reason to wait that cannot be resolved as it says. */
  | 'unresolvable'
  /** A run that is told to have ended runs again, or ends otherwise. */
  | 'ended-again'
  /** A process that has lost the run does something that only its owner may. */
  | 'zombie'
  /** An attempt that has ended keeps the run from the next one. */
  | 'lease-kept'
  /** The summary of an attempt does not agree with what was seen. */
  | 'summary'
  /** What is stored is not what verify calls whole. */
  | 'stored'

export interface Violation {
  readonly kind: ViolationKind
  readonly message: string
}
