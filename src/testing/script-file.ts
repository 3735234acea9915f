/** Scripts of the server as a process: JSON text. */
import type { Script } from './conversation.ts'
import { parseFaultPlan } from './fault-plan.ts'
import type { FaultPlan } from './faults.ts'
import { checkedObject, isObject } from './invalid.ts'
import { parseConversation, parseScripts } from './script.ts'

export interface ScriptFile {
  readonly conversations: readonly Script[]
  readonly faults: FaultPlan
}

/** Reads a file's value: a conversation, an array of them, or `{ conversations, faults }`. */
export function parseScriptFile(value: unknown): ScriptFile {
  if (Array.isArray(value)) return { conversations: parseScripts(value), faults: [] }
  if (isObject(value) && 'messages' in value) return { conversations: [parseConversation(value)], faults: [] }
  const file = checkedObject('script', value, ['conversations', 'faults'])
  return { conversations: parseScripts(file['conversations']), faults: parseFaultPlan(file['faults'] ?? []) }
}
