/** What a fingerprint sees of a model request's conversation (R8): every message is compared, only what is new is hashed. */
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import { hash } from '../core/hash.ts'
import type { PromptRecord } from '../journal/entry.ts'
import { fingerprint, isSame } from '../journal/fingerprint.ts'
import { withoutCacheSettings } from './provider-options.ts'

type Label = readonly [label: string, hash: string]

interface Seen {
  readonly messages: readonly LanguageModelV4Message[]
  readonly labels: readonly Label[]
  /** Fingerprint of the messages up to each one. */
  readonly digests: readonly string[]
  step: string | undefined
}

export interface Conversation {
  /** null: it holds something that has no fingerprint. */
  readonly fingerprint: string | null
  readonly prompt: PromptRecord
  readonly messages: () => readonly Label[]
  /** The step whose whole conversation it carries on. */
  readonly carriesOn: string | undefined
  /** Ids of the calls whose results are new in it, as far as they are no errors. */
  readonly results: readonly string[]
  /** Tells which step it became, so that later ones can be described by what they add to it. */
  claimedBy(step: string): void
}

/** The conversations of one branch: later ones mostly continue earlier ones. */
export class Conversations {
  /** As many as requests usually alternate between; an older one costs a full hash, not a wrong answer. */
  static readonly #KEPT = 8
  #seen: Seen[] = []

  read(prompt: LanguageModelV4CallOptions['prompt']): Conversation {
    const messages = prompt.slice(leadingSystem(prompt))
    let base: Seen | undefined
    let carried: Seen | undefined
    let keep = 0
    for (const seen of this.#seen) {
      const common = commonPrefix(seen.messages, messages)
      if (!base || common > keep) [base, keep] = [seen, common]
      const isWhole = common === seen.messages.length && common < messages.length
      if (isWhole && common > (carried?.messages.length ?? 0)) carried = seen
    }
    const labels = base ? base.labels.slice(0, keep) : []
    const digests = base ? base.digests.slice(0, keep) : []
    for (const message of messages.slice(keep)) {
      const print = fingerprint(comparable(message))
      if (print === null) return { fingerprint: null, prompt: { length: messages.length, keep: 0, added: [] }, messages: () => [], carriesOn: undefined, results: [], claimedBy: () => {} }
      labels.push([labelOf(message), print])
      digests.push(hash(digests.at(-1) ?? '', print))
    }
    const seen: Seen = { messages, labels, digests, step: undefined }
    this.#seen = [seen, ...this.#seen].slice(0, Conversations.#KEPT)
    const described = keep > 0 && base?.step !== undefined
    return {
      fingerprint: digests.at(-1) ?? hash('no messages'),
      prompt: described
        ? { length: labels.length, keep, base: base!.step!, added: labels.slice(keep) }
        : { length: labels.length, keep: 0, added: labels },
      messages: () => labels,
      carriesOn: carried?.step,
      results: messages.slice(keep).flatMap(resultsOf),
      claimedBy: (step) => {
        seen.step = step
      },
    }
  }
}

/** How many messages at the start are the system text: that is configuration, not conversation. */
export function leadingSystem(prompt: readonly LanguageModelV4Message[]): number {
  const first = prompt.findIndex((message) => message.role !== 'system')
  return first === -1 ? prompt.length : first
}

function commonPrefix(a: readonly unknown[], b: readonly unknown[]): number {
  let i = 0
  while (i < a.length && i < b.length && isSame(a[i], b[i])) i++
  return i
}

/** A message as far as it counts. */
function comparable(message: LanguageModelV4Message): unknown {
  const { role, content, providerOptions } = message
  const parts = typeof content === 'string' ? content : content.map((part) => ({ ...part, providerOptions: withoutCacheSettings(part.providerOptions) }))
  return { role, content: parts, providerOptions: withoutCacheSettings(providerOptions) }
}

function resultsOf(message: LanguageModelV4Message): string[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap((part) => (part.type === 'tool-result' && !part.output.type.startsWith('error') && part.output.type !== 'execution-denied' ? [part.toolCallId] : []))
}

/** What a message is, for a person who reads why a run diverged. */
function labelOf(message: LanguageModelV4Message): string {
  if (message.role !== 'tool') return message.role
  const tools = message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolName] : []))
  return tools.length > 0 ? `result of ${[...new Set(tools)].join(', ')}` : 'tool'
}
