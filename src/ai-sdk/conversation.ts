/** What a fingerprint sees of a model request's conversation (R8): every message is compared, only what is new is hashed. */
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import { hash } from '../core/hash.ts'
import type { PromptRecord } from '../journal/entry.ts'
import { copyAgain, copyOf, isSame } from '../journal/copy.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import type { Secrets } from '../journal/secrets.ts'
import { hasLink } from './files.ts'
import { NONE, repair, waitingAfter, type Waiting } from './orphans.ts'
import { withoutCacheSettings } from './provider-options.ts'

type Label = readonly [label: string, hash: string]

/** The digest of a conversation that holds something without a fingerprint, such as a function. */
const NO_FINGERPRINT = ''

/** What is known of a message, and of those before it in its conversation. */
interface Known {
  readonly label: Label
  /** Fingerprint of the messages up to it; `NO_FINGERPRINT`. */
  readonly digest: string
  readonly waiting: Waiting
  /** One of them holds a link to a file. */
  readonly hasLinks: boolean
}

/**
 * Messages that conversations begin with, as they were when they were asked, and what is known of each: it only grows, at its end, and those that carry
 * one on share it. They are copies that nobody else is given, so what is known of one stays true.
 */
interface Trunk {
  readonly messages: LanguageModelV4Message[]
  readonly known: Known[]
}

/** A conversation that was asked: the first messages of a trunk. */
interface Line {
  readonly trunk: Trunk
  readonly length: number
  /** The step that it became. */
  step: string | undefined
}

export interface Conversation {
  /** The messages as they were when it was asked, with a result for each call: a copy of its own each time, for the model may change it. */
  readonly whole: () => LanguageModelV4CallOptions['prompt']
  /** Ids of the calls that were given one. */
  readonly repaired: readonly string[]
  /** Whether a message may hold a link to a file. */
  readonly hasLinks: boolean
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
 * adds; its other messages are passed over once, and compared with the copies that are kept of them: an object of the caller's may have been
 * changed since, and then it equals itself and is another message all the same.
 */
export class Conversations {
  /** As many as requests usually alternate between; an older one costs a full hash, not a wrong answer. */
  static readonly #KEPT = 8
  /** The newest first. */
  #lines: readonly Line[] = []
  readonly #secrets: Secrets | undefined

  constructor(secrets?: Secrets) {
    this.#secrets = secrets
  }

  read(asked: LanguageModelV4CallOptions['prompt']): Conversation {
    const found = this.#compare(asked)
    if (isWhole(found.known.at(-1) ?? found.before)) return this.#take(found, [])
    const { messages, repaired } = repair(asked)
    return this.#take(repaired.length === 0 ? found : this.#compare(messages), repaired)
  }

  /** What it begins with, and what is new in it. */
  #compare(prompt: LanguageModelV4CallOptions['prompt']): Compared {
    const start = leadingSystem(prompt)
    const { base, keep } = this.#longestCommon(prompt, start)
    const before = base?.known[keep - 1]
    const added = prompt.slice(start + keep).map(copyOf)
    const known: Known[] = []
    for (const message of added) {
      const last = known.at(-1) ?? before
      const isLost = last?.digest === NO_FINGERPRINT
      const print = isLost ? null : fingerprint(comparable(message), this.#secrets)
      known.push({
        label: [this.#secrets?.hide(labelOf(message)) ?? labelOf(message), print ?? ''],
        digest: print === null ? NO_FINGERPRINT : hash(last?.digest ?? '', print),
        waiting: waitingAfter(last ? last.waiting : NONE, message),
        hasLinks: last?.hasLinks === true || hasLink(message),
      })
    }
    return { system: prompt.slice(0, start).map(copyOf), base, keep, before, added, known }
  }

  #take({ system, base, keep, before, added, known }: Compared, repaired: readonly string[]): Conversation {
    const length = keep + added.length
    const last = known.at(-1) ?? before
    const whole = (copy: typeof copyOf): LanguageModelV4Message[] => {
      const messages = system.map((message) => copy(message))
      for (let i = 0; i < length; i++) messages.push(copy(i < keep ? base!.messages[i]! : added[i - keep]!))
      return messages
    }
    const all = { repaired, hasLinks: last?.hasLinks ?? false }
    if (last?.digest === NO_FINGERPRINT) return { ...all, whole: () => whole(copyOf), fingerprint: null, prompt: { length, keep: 0, added: [] }, messages: () => [], carriesOn: undefined, results: [], claimedBy: () => {} }
    const trunk = base ? grown(base, keep, added, known) : { messages: added, known }
    const line: Line = { trunk, length, step: undefined }
    const conversation: Conversation = {
      ...all,
      whole: () => whole(copyAgain),
      fingerprint: last?.digest ?? hash('no messages'),
      prompt: this.#described(base, keep, line),
      messages: () => labelsOf(line, 0),
      carriesOn: this.#carriedBy(line)?.step,
      results: added.flatMap(resultsOf),
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
  #described(base: Trunk | undefined, keep: number, line: Line): PromptRecord {
    const asked = this.#lines.filter((former) => former.trunk === base && former.step !== undefined).sort((a, b) => a.length - b.length)
    const from = asked.find((former) => former.length >= keep) ?? asked.at(-1)
    const kept = from ? Math.min(keep, from.length) : 0
    return { length: line.length, keep: kept, ...(from && { base: from.step! }), added: labelsOf(line, kept) }
  }

  /** The longest conversation that it begins with and goes beyond. */
  #carriedBy({ trunk, length }: Line): Line | undefined {
    let longest: Line | undefined
    for (const line of this.#lines) {
      const isLonger = line.length > (longest?.length ?? 0) && line.length < length
      if (isLonger && line.trunk.known[line.length - 1]!.digest === trunk.known[line.length - 1]!.digest) longest = line
    }
    return longest
  }
}

/** The conversations of each branch of a drive, as long as it is open. */
export class BranchConversations {
  readonly #byBranch = new Map<string, Conversations>()
  readonly #secrets: Secrets | undefined
  #sweepAt = 16

  constructor(secrets?: Secrets) {
    this.#secrets = secrets
  }

  /** `hasEnded`: nobody can ask in that branch any more. */
  of(branch: string, hasEnded: (branch: string) => boolean): Conversations {
    let conversations = this.#byBranch.get(branch)
    if (conversations) return conversations
    if (this.#byBranch.size >= this.#sweepAt) {
      for (const path of this.#byBranch.keys()) if (hasEnded(path)) this.#byBranch.delete(path)
      this.#sweepAt = Math.max(16, 2 * this.#byBranch.size)
    }
    this.#byBranch.set(branch, (conversations = new Conversations(this.#secrets)))
    return conversations
  }
}

/** A prompt beside those before it. */
interface Compared {
  readonly system: readonly LanguageModelV4Message[]
  readonly base: Trunk | undefined
  /** How many messages of `base` it begins with, and what is known of the last of them. */
  readonly keep: number
  readonly before: Known | undefined
  /** Copies of the messages behind those. */
  readonly added: LanguageModelV4Message[]
  readonly known: Known[]
}

const isWhole = (last: Known | undefined): boolean => last === undefined || last.waiting?.length === 0

const labelsOf = ({ trunk, length }: Line, from: number): Label[] => trunk.known.slice(from, length).map(({ label }) => label)

/** A trunk that has the first `keep` messages of another, and these: the other itself, where it ends there. */
function grown(base: Trunk, keep: number, added: readonly LanguageModelV4Message[], known: readonly Known[]): Trunk {
  const trunk = keep === base.messages.length ? base : { messages: base.messages.slice(0, keep), known: base.known.slice(0, keep) }
  for (const message of added) trunk.messages.push(message)
  for (const one of known) trunk.known.push(one)
  return trunk
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
  const { role, providerOptions } = message
  const content = message.role === 'tool' ? inOrder(message.content) : message.content
  const parts = typeof content === 'string' ? content : content.map((part) => ({ ...part, providerOptions: withoutCacheSettings(part.providerOptions) }))
  return { role, content: parts, providerOptions: withoutCacheSettings(providerOptions) }
}

type ToolContent = (LanguageModelV4Message & { readonly role: 'tool' })['content']

/** Results of calls that ran side by side stand in the order in which they came, which is a matter of luck: each says whose it is. */
function inOrder(content: ToolContent): ToolContent {
  const idOf = (part: ToolContent[number]): string => (part.type === 'tool-result' ? `r ${part.toolCallId} ${part.toolName}` : `a ${part.approvalId}`)
  return content.length < 2 ? content : content.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : idOf(a) > idOf(b) ? 1 : 0))
}

function resultsOf(message: LanguageModelV4Message): string[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap((part) => (part.type === 'tool-result' && !part.output.type.startsWith('error') && part.output.type !== 'execution-denied' ? [part.toolCallId] : []))
}

/** What a message is, for a person who reads why a run diverged. */
function labelOf(message: LanguageModelV4Message): string {
  if (message.role !== 'tool') return message.role
  const tools = inOrder(message.content).flatMap((part) => (part.type === 'tool-result' ? [part.toolName] : []))
  return tools.length > 0 ? `result of ${[...new Set(tools)].join(', ')}` : 'tool'
}
