/** Tool calls in a conversation that have no result anywhere: no provider takes such a conversation (C19). */
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import { currentContext } from '../run/current.ts'

interface Part {
  readonly type: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly providerExecuted?: boolean | undefined
  readonly approvalId?: string
  readonly approved?: boolean
  readonly reason?: string | undefined
}

interface Message {
  readonly role: string
  readonly content: unknown
}

const partsOf = (message: Message): readonly Part[] => (Array.isArray(message.content) ? (message.content as readonly Part[]) : [])

/**
 * The messages with a result right after each call that has none: "interrupted, outcome unknown", or that it was denied, where it waited for an
 * approval that was not given before the conversation went on. The same array where every call has one. Calls that the provider executes are
 * left alone, and so are those that may still be made: their approval is asked for, or was answered, at the end of the messages. Where a result of the
 * call exists anywhere, none is made up; an id that is used twice needs two. `generateText` and its relatives refuse such messages themselves, before any
 * model is asked: repair what you load from a store of your own before you pass it on. Inside a run its journal says so, once the next request is sent.
 *
 * @throws HoldfastError `INVALID_OPTIONS` for what are no model messages, with the path.
 * @example
 * await generateText({ model, messages: repairMessages(await loadChat(threadId)) })
 */
export function repairMessages<M extends Message>(messages: readonly M[]): M[] {
  checkMessages(messages)
  const { messages: whole, repaired } = repair(messages)
  const drive = currentContext()?.drive
  if (drive && repaired.length > 0) repairedIn.set(drive, [...(repairedIn.get(drive) ?? []), ...repaired])
  return whole
}

/** @throws HoldfastError `INVALID_OPTIONS`. */
function checkMessages(messages: unknown): void {
  const refuse = (path: string, rule: string, got: unknown, advice = 'Pass the messages that generateText takes: [{ role, content }, ...]'): never => {
    throw new HoldfastError('INVALID_OPTIONS', `repairMessages(): ${path} must be ${rule}, got ${shown(got).slice(0, 80)}`, { advice })
  }
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
  if (!Array.isArray(messages)) return refuse('messages', 'an array', messages)
  for (const [i, message] of (messages as unknown[]).entries()) {
    const path = `messages[${i}]`
    if (!isObject(message)) return refuse(path, 'a message', message)
    const { role, content, parts } = message as { role?: unknown; content?: unknown; parts?: unknown }
    if (typeof role !== 'string') refuse(`${path}.role`, 'a text', role)
    if (content === undefined && Array.isArray(parts)) refuse(`${path}.content`, 'a text or an array of parts', content, 'These are messages of a UI: pass await convertToModelMessages(messages)')
    if (typeof content === 'string') continue
    if (!Array.isArray(content)) return refuse(`${path}.content`, 'a text or an array of parts', content)
    const wrong = content.findIndex((part: unknown) => !isObject(part) || typeof (part as Partial<Part>).type !== 'string')
    if (wrong !== -1) refuse(`${path}.content[${wrong}]`, 'a part with a type', content[wrong])
  }
}

/** By drive, the calls whose results its handler had made up, and of which nothing was told yet. */
const repairedIn = new WeakMap<object, readonly string[]>()

/** The calls that a handler has had repaired since this was asked last. */
export function takeRepaired(drive: object): readonly string[] {
  const repaired = repairedIn.get(drive) ?? []
  repairedIn.delete(drive)
  return repaired
}

/** As {@link repairMessages}, with the ids of the calls that were given a result. */
export function repair<M extends Message>(messages: readonly M[]): { readonly messages: M[]; readonly repaired: readonly string[] } {
  const missing = new Map<number, Part[]>()
  for (const call of withoutResult(messages)) {
    const result = resultFor(call, messages)
    if (result) missing.set(call.at, [...(missing.get(call.at) ?? []), result])
  }
  if (missing.size === 0) return { messages: messages as M[], repaired: [] }
  return {
    messages: messages.flatMap((message, at) => [message, ...(missing.has(at) ? [{ role: 'tool', content: missing.get(at) } as unknown as M] : [])]),
    repaired: [...missing.values()].flat().map(({ toolCallId }) => toolCallId!),
  }
}

interface Call {
  readonly part: Part
  /** Position of its message. */
  readonly at: number
}

/** A result is that of the last call of its id before it, else of any that has none. */
function withoutResult(messages: readonly Message[]): Call[] {
  const calls: Call[] = []
  const early: string[] = []
  const isAnswered = (index: number): boolean => index !== -1 && calls.splice(index, 1).length > 0
  for (const [at, message] of messages.entries()) {
    for (const part of partsOf(message)) {
      const { type, toolCallId: id } = part
      if (id === undefined) continue
      if (type === 'tool-call') calls.push({ part, at })
      if (type === 'tool-result' && !isAnswered(calls.findLastIndex((call) => call.part.toolCallId === id))) early.push(id)
    }
  }
  for (const id of early) isAnswered(calls.findIndex((call) => call.part.toolCallId === id))
  return calls.filter(({ part, at }) => messages[at]!.role === 'assistant' && !part.providerExecuted)
}

/** What its caller is told; undefined: it may still be made. */
function resultFor({ part, at }: Call, messages: readonly Message[]): Part | undefined {
  const request = partsOf(messages[at]!).find(({ type, toolCallId }) => type === 'tool-approval-request' && toolCallId === part.toolCallId)
  if (!request) return interrupted(part)
  const response = messages.slice(at).flatMap(partsOf).find(({ type, approvalId }) => type === 'tool-approval-response' && approvalId === request.approvalId)
  // The AI SDK carries out what the last message answers.
  const isNext = response ? partsOf(messages.at(-1)!).includes(response) : messages.slice(at + 1).every(({ role }) => role === 'tool')
  if (isNext) return undefined
  if (response?.approved) return interrupted(part)
  return toolResult(part, { type: 'execution-denied', reason: response ? response.reason : 'nobody approved it before the conversation went on' })
}

/** Ids of the calls that wait for an answer behind a message; null: something else came first, so the whole conversation has to be looked at. */
export type Waiting = readonly string[] | null

export const NONE: Waiting = []

/** What waits behind a message, from what waited before it: found out once for each message, however often the conversation is carried on. */
export function waitingAfter(before: Waiting, message: Message): Waiting {
  if (before === null || (before.length > 0 && message.role !== 'tool')) return null
  if (before.length === 0 && message.role !== 'assistant') return NONE
  const parts = partsOf(message)
  const left = before.length > 0 ? [...before] : parts.filter((part) => part.type === 'tool-call' && !part.providerExecuted).map((part) => part.toolCallId!)
  for (const { type, toolCallId } of parts) if (type === 'tool-result' && left.includes(toolCallId!)) left.splice(left.indexOf(toolCallId!), 1)
  return left.length === 0 ? NONE : left
}

const toolResult = ({ toolCallId, toolName }: Part, output: object): Part => ({ type: 'tool-result', ...(toolCallId !== undefined && { toolCallId }), ...(toolName !== undefined && { toolName }), output } as Part)

const interrupted = (call: Part): Part => toolResult(call, { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' })
