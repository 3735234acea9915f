/** Tool calls in a conversation that have no result anywhere: no provider takes such a conversation (C19). */
import { currentContext } from '../run/current.ts'

interface Part {
  readonly type: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly providerExecuted?: boolean | undefined
}

interface Message {
  readonly role: string
  readonly content: unknown
}

const partsOf = (message: Message): readonly Part[] => (Array.isArray(message.content) ? (message.content as readonly Part[]) : [])

/**
 * The messages with a result "interrupted, outcome unknown" right after each call that has none; the same array where every call
 * has one. Calls that wait for an approval, and calls that the provider executes, are left alone; where a result of the
 * id exists anywhere, none is made up. `generateText` and its relatives refuse such messages themselves, before any model is
 * asked: repair what you load from a store of your own before you pass it on. Inside a run its journal says so, once the next request is sent.
 *
 * @example
 * await generateText({ model, messages: repairMessages(await loadChat(threadId)) })
 */
export function repairMessages<M extends Message>(messages: readonly M[]): M[] {
  const { messages: whole, repaired } = repair(messages)
  const drive = currentContext()?.drive
  if (drive && repaired.length > 0) repairedIn.set(drive, [...(repairedIn.get(drive) ?? []), ...repaired])
  return whole
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
  const answered = new Set<string>()
  for (const message of messages) {
    for (const part of partsOf(message)) {
      if ((part.type === 'tool-result' || part.type === 'tool-approval-request') && part.toolCallId !== undefined) answered.add(part.toolCallId)
    }
  }
  const repaired: string[] = []
  const whole = messages.flatMap((message) => {
    const missing = message.role !== 'assistant' ? [] : partsOf(message).filter((part) => part.type === 'tool-call' && !part.providerExecuted && !answered.has(part.toolCallId!))
    if (missing.length === 0) return [message]
    repaired.push(...missing.map((part) => part.toolCallId!))
    return [message, { role: 'tool', content: missing.map(interrupted) } as unknown as M]
  })
  return repaired.length === 0 ? { messages: messages as M[], repaired } : { messages: whole, repaired }
}

/** Ids of the calls that wait for an answer behind a message; null: something else came first, so the whole conversation has to be looked at. */
export type Waiting = readonly string[] | null

export const NONE: Waiting = []

/** What waits behind a message, from what waited before it: found out once for each message, however often the conversation is carried on. */
export function waitingAfter(before: Waiting, message: Message): Waiting {
  if (before === null || (before.length > 0 && message.role !== 'tool')) return null
  if (before.length === 0 && message.role !== 'assistant') return NONE
  const parts = partsOf(message)
  const calls = before.length > 0 ? before : parts.filter((part) => part.type === 'tool-call' && !part.providerExecuted).map((part) => part.toolCallId!)
  const left = calls.filter((id) => !parts.some((part) => (part.type === 'tool-result' || part.type === 'tool-approval-request') && part.toolCallId === id))
  return left.length === 0 ? NONE : left
}

const interrupted = ({ toolCallId, toolName }: Part): object => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output: { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' },
})
