/**
 * What each entry of a journal, and each message of an inbox, must look like when it is read (R15). The compiler holds these tables to
 * the types in entry.ts and message.ts: a field that is added there has to be added here and in docs/format.md.
 */
import type {
  ApprovalDecided, ApprovalDecision, AskedCall, AttemptSummary, CallInQuestion, Decision, EffectRef, Entry, KeptFile, LimitsRecord, Outcome, PromptRecord, Settlement, StepEffect, StepRef, StepUsage, SuspendReason,
} from './entry.ts'
import type { Message } from './message.ts'
import { atLeast, between, encoded, flag, list, type Look, map, nullable, number, object, oneOf, optional, type Optional, pair, positive, type Shape, text, variants } from './shape.ts'

/** A check for each field of a type, optional where the field is. */
type Fields<T> = { readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? Optional : Shape }
type Typed = { readonly type: string }
/** The variant of that type, also where several types share one. */
type Variant<U extends Typed, T> = U extends { readonly type: infer Types } ? (T extends Types ? U : never) : never
/** The same for each variant of a union. */
type Variants<U extends Typed> = { readonly [T in U['type']]: Fields<Omit<Variant<U, T>, 'type' | 'at'>> }

/** Each attempt raises the token by one: no run comes to this one, and above it there is room for all that has to be above another. */
export const NEWEST_TOKEN = 2 ** 52

const position = atLeast(0)
const count = atLeast(0)
const kind = oneOf('model', 'tool', 'step', 'read', 'agent')

const step = object({ id: text, branch: text, kind, name: text, slot: optional(position) } satisfies Fields<StepRef>)
const effect = object({ name: text, key: text } satisfies Fields<EffectRef>)
const stepEffect = object({ name: text, key: text, called: optional(text) } satisfies Fields<StepEffect>)
const asked = object({ callId: text, tool: text, fingerprint: text } satisfies Fields<AskedCall>)
const prompt = object({ length: count, keep: count, base: optional(text), added: list(pair(text, text)) } satisfies Fields<PromptRecord>)
const usage = object({ inputTokens: optional(number), outputTokens: optional(number) } satisfies Fields<StepUsage>)
const file = object({ link: text, file: encoded } satisfies Fields<KeptFile>)
const limits = object({
  maxSteps: optional(nullable(atLeast(1))), maxTokens: optional(nullable(atLeast(1))), maxJournalBytes: optional(nullable(atLeast(1))), runMs: optional(nullable(positive)), deadline: optional(nullable(number)),
} satisfies Fields<LimitsRecord>)
const summary = object({ replayed: map(count), recorded: map(count), unrecorded: list(text), leftOpen: optional(list(text)) } satisfies Fields<AttemptSummary>)

const outcome = variants({
  'value': { value: encoded },
  'error': { error: encoded, mayHaveHappened: optional(flag) },
  'unstored': { error: encoded },
  'unknown': { cause: oneOf('interrupted', 'timeout', 'cancelled', 'error', 'skipped'), error: encoded },
} satisfies Variants<Outcome>)

const decision = variants({ 'rerun': {}, 'skip': {}, 'reuse': { value: encoded, of: optional(text) }, 'result': { value: encoded } } satisfies Variants<Decision>)
const answers = { 'approved': { by: optional(text), input: optional(encoded) }, 'denied': { by: optional(text), reason: optional(text) } } satisfies Variants<ApprovalDecision>
const approval = variants(answers)
const approvalOrNone = variants({ ...answers, 'expired': {}, 'withdrawn': {} } satisfies Variants<ApprovalDecided['decision']>)
const settlement = variants({ 'completed': { outcome }, 'not-done': {} } satisfies Variants<Settlement>)

const call = object({ step: text, input: optional(encoded), idempotencyKey: optional(text), startedAt: optional(number), lostBefore: optional(number) } satisfies Fields<CallInQuestion>)
const waiting = {
  step: text, tool: text, key: optional(text), message: text, fingerprint: text, effects: list(text), first: optional(list(text)), choices: optional(list(oneOf('rerun', 'skip', 'reuse', 'result'))),
  calls: optional(list(call)), hasInside: optional(flag),
}
const reason = variants({
  'in-doubt': waiting,
  'repeat': waiting,
  'approval': { step: text, tool: text, message: text, fingerprint: text, question: atLeast(1), input: optional(encoded), expiresAt: optional(number) },
  'retry-after': { step: text, message: text, until: number, tries: count },
  'not-recorded': { step: text, message: text },
  'draining': { message: text },
  'aborted': { message: text },
} satisfies Variants<SuspendReason>)

const request = { step, fingerprint: text, after: optional(list(text)), low: optional(position), to: optional(position), effect: optional(stepEffect), input: optional(encoded), config: optional(text), prompt: optional(prompt) }

const ENTRIES: Variants<Entry> = {
  'run-created': { format: atLeast(1), runId: text, agent: text, version: text, input: encoded, threadId: optional(text) },
  'attempt-started': {
    attempt: atLeast(1), token: between(1, NEWEST_TOKEN), version: text, former: oneOf('none', 'released', 'dead', 'expired'), limits: optional(limits), format: optional(atLeast(1)),
  },
  'attempt-ended': { attempt: atLeast(1), summary },
  'step-started': { ...request, idempotencyKey: text, presumed: optional(flag) },
  'step-entered': { step, fingerprint: text, after: optional(list(text)), low: optional(position) },
  'step-ended': {
    ...request, outcome, failedBy: optional(list(text)), asked: optional(list(asked)), usage: optional(usage), files: optional(list(file)), tries: count, ms: number,
  },
  'config': { digest: text, parts: map(text) },
  'config-changed': { step: text, changed: list(text), config: text },
  'superseded': { by: oneOf('divergence', 'failure', 'redo', 'live-result'), step: text, reason: text, ids: list(text), reopened: optional(list(text)) },
  'settled': { step: text, start: optional(position), by: oneOf('reconcile', 'late-result', 'owner'), settlement },
  'decision': { inbox: atLeast(1), step: text, effect, fingerprint: text, since: position, decision },
  'approval-asked': { step, fingerprint: text, input: optional(encoded), expiresAt: optional(number) },
  'approval-decided': { inbox: optional(atLeast(1)), step: text, decision: approvalOrNone },
  'consumed': { step: text, effects: list(text), passed: optional(list(text)), decisions: list(atLeast(1)) },
  'inbox-taken': { seq: atLeast(1), step: optional(text) },
  'retry-after': { step: text, message: text, until: number, tries: count },
  'suspended': { reasons: list(reason), resumeAt: nullable(number) },
  'run-ended': { status: oneOf('completed', 'failed', 'cancelled'), result: optional(encoded), error: optional(encoded), reason: optional(text), cleanUp: optional(list(text)) },
  'salvaged': { fault: text, had: count, inbox: position, token: position, copy: text },
  // Codes are for people: a new one needs no new format.
  'warning': { code: text, message: text, step: optional(text) },
}

const MESSAGES: Variants<Message> = {
  'decision': { step: text, effect, fingerprint: text, since: position, decision },
  'approval': { step: text, question: atLeast(1), decision: approval },
  'late-result': { step: text, start: optional(position), settlement },
}

// `secrets` is how the names of secrets are written in a record that had any (secrets.ts).
const entry = variants(Object.fromEntries(Object.entries(ENTRIES).map(([type, fields]) => [type, { at: number, secrets: optional(text), ...fields }])))
const message = variants(Object.fromEntries(Object.entries(MESSAGES).map(([type, fields]) => [type, { secrets: optional(text), ...fields }])))

const PLAIN: Look = { values: undefined }

/** What is wrong with an entry, beginning with the path of the field; undefined: nothing. `values` looks at each encoded value in it. */
export const entryFault = (value: unknown, values?: Look['values']): string | undefined => entry(value, '', values ? { values } : PLAIN)

/** The same of a message in a run's inbox. */
export const messageFault = (value: unknown, values?: Look['values']): string | undefined => message(value, '', values ? { values } : PLAIN)
