/** Tool calls in a conversation that have no result anywhere: no provider takes such a conversation (C19). */

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
 * asked: repair what you load from a store of your own before you pass it on.
 *
 * @example
 * await generateText({ model, messages: repairMessages(await loadChat(threadId)) })
 */
export function repairMessages<M extends Message>(messages: readonly M[]): M[] {
  return repair(messages).messages
}

/** As {@link repairMessages}, with the ids of the calls that were given a result. */
export function repair<M extends Message>(messages: readonly M[]): { readonly messages: M[]; readonly repaired: readonly string[] } {
  // Nearly all are: found out without keeping anything, because it is asked at every request.
  if (areWhole(messages)) return { messages: messages as M[], repaired: [] }
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

/** Whether each call is answered right behind it. */
function areWhole(messages: readonly Message[]): boolean {
  for (let at = 0; at < messages.length; at++) {
    if (messages[at]!.role !== 'assistant') continue
    const parts = partsOf(messages[at]!)
    for (const part of parts) if (part.type === 'tool-call' && !part.providerExecuted && !isAnswered(part.toolCallId, messages, at)) return false
  }
  return true
}

/** In its own message, or in those of tools that follow. */
function isAnswered(callId: string | undefined, messages: readonly Message[], at: number): boolean {
  do {
    for (const part of partsOf(messages[at]!)) if ((part.type === 'tool-result' || part.type === 'tool-approval-request') && part.toolCallId === callId) return true
  } while (messages[++at]?.role === 'tool')
  return false
}

const interrupted = ({ toolCallId, toolName }: Part): object => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output: { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' },
})
