/** What a fingerprint sees of a model request's conversation (R8): every message is compared, only what is new is hashed. */
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import { hash } from '../core/hash.ts'
import type { PromptRecord } from '../journal/entry.ts'
import { fingerprint, isSame } from '../journal/fingerprint.ts'
import { withoutCacheSettings } from './provider-options.ts'

type Label = readonly [label: string, hash: string]

/** Messages that conversations begin with, and what was found out about each: it only grows at its end, and those that carry one on share it. */
interface Trunk {
  readonly messages: LanguageModelV4Message[]
  readonly labels: Label[]
  /** Fingerprint of the messages up to each one. */
  readonly digests: string[]
}

/** A conversation that was asked: the first messages of a trunk. */
interface Line {
  readonly trunk: Trunk
  readonly length: number
  /** The step that it became. */
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

/**
 * The conversations of one branch: later ones mostly continue earlier ones. What is hashed, written and kept for one is what it
 * adds; its other messages are passed over once, and compared by reference.
 */
export class Conversations {
  /** As many as requests usually alternate between; an older one costs a full hash, not a wrong answer. */
  static readonly #KEPT = 8
  /** The newest first. */
  #lines: readonly Line[] = []

  read(prompt: LanguageModelV4CallOptions['prompt']): Conversation {
    const start = leadingSystem(prompt)
    const length = prompt.length - start
    const { base, keep } = this.#longestCommon(prompt, start)
    const added: Trunk = { messages: prompt.slice(start + keep), labels: [], digests: [] }
    for (const message of added.messages) {
      const print = fingerprint(comparable(message))
      if (print === null) return { fingerprint: null, prompt: { length, keep: 0, added: [] }, messages: () => [], carriesOn: undefined, results: [], claimedBy: () => {} }
      added.labels.push([labelOf(message), print])
      added.digests.push(hash(added.digests.at(-1) ?? base?.digests[keep - 1] ?? '', print))
    }
    const trunk = base ? grown(base, keep, added) : added
    const line: Line = { trunk, length, step: undefined }
    const conversation: Conversation = {
      fingerprint: trunk.digests[length - 1] ?? hash('no messages'),
      prompt: this.#described(base, keep, line),
      messages: () => trunk.labels.slice(0, length),
      carriesOn: this.#carriedBy(line)?.step,
      results: added.messages.flatMap(resultsOf),
      claimedBy: (step) => {
        line.step = step
      },
    }
    this.#lines = [line, ...this.#lines.slice(0, Conversations.#KEPT - 1)]
    return conversation
  }

  /** The trunk that has the most messages in common with a prompt. One that is no longer than what was found cannot have more. */
  #longestCommon(prompt: readonly LanguageModelV4Message[], start: number): { readonly base: Trunk | undefined; readonly keep: number } {
    let base: Trunk | undefined
    let keep = 0
    for (const trunk of new Set(this.#lines.map((line) => line.trunk))) {
      if (trunk.messages.length <= keep) continue
      const common = commonPrefix(trunk.messages, prompt, start)
      if (common > keep) [base, keep] = [trunk, common]
    }
    return { base, keep }
  }

  /** By what it adds to a step that is still known: the one with the fewest messages that has all that they share, else the longest. */
  #described(base: Trunk | undefined, keep: number, { trunk, length }: Line): PromptRecord {
    const asked = this.#lines.filter((line) => line.trunk === base && line.step !== undefined).sort((a, b) => a.length - b.length)
    const from = asked.find((line) => line.length >= keep) ?? asked.at(-1)
    const kept = from ? Math.min(keep, from.length) : 0
    return { length, keep: kept, ...(from && { base: from.step! }), added: trunk.labels.slice(kept, length) }
  }

  /** The longest conversation that it begins with and goes beyond. */
  #carriedBy({ trunk, length }: Line): Line | undefined {
    let longest: Line | undefined
    for (const line of this.#lines) {
      const isLonger = line.length > (longest?.length ?? 0) && line.length < length
      if (isLonger && line.trunk.digests[line.length - 1] === trunk.digests[line.length - 1]) longest = line
    }
    return longest
  }
}

/** The conversations of each branch of a drive, as long as it is open. */
export class BranchConversations {
  readonly #byBranch = new Map<string, Conversations>()
  #sweepAt = 16

  /** `hasEnded`: nobody can ask in that branch any more. */
  of(branch: string, hasEnded: (branch: string) => boolean): Conversations {
    let conversations = this.#byBranch.get(branch)
    if (conversations) return conversations
    if (this.#byBranch.size >= this.#sweepAt) {
      for (const path of this.#byBranch.keys()) if (hasEnded(path)) this.#byBranch.delete(path)
      this.#sweepAt = Math.max(16, 2 * this.#byBranch.size)
    }
    this.#byBranch.set(branch, (conversations = new Conversations()))
    return conversations
  }
}

/** A trunk that has the first `keep` messages of another, and these: the other itself, where it ends there. */
function grown(base: Trunk, keep: number, added: Trunk): Trunk {
  if (keep < base.messages.length) {
    base = { messages: base.messages.slice(0, keep), labels: base.labels.slice(0, keep), digests: base.digests.slice(0, keep) }
  }
  for (const message of added.messages) base.messages.push(message)
  for (const label of added.labels) base.labels.push(label)
  for (const digest of added.digests) base.digests.push(digest)
  return base
}

/** How many messages at the start are the system text: that is configuration, not conversation. */
export function leadingSystem(prompt: readonly LanguageModelV4Message[]): number {
  const first = prompt.findIndex((message) => message.role !== 'system')
  return first === -1 ? prompt.length : first
}

function commonPrefix(messages: readonly unknown[], prompt: readonly unknown[], start: number): number {
  let i = 0
  while (i < messages.length && start + i < prompt.length && isSame(messages[i], prompt[start + i])) i++
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
