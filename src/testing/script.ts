/** Scripts at the edge: what a caller or a file hands in is checked once, with the path of what is wrong. */
import { HoldfastError } from '../errors.ts'
import type { AnyToolResult, Conversation, ReplyScript, Script, ScriptMessage } from './conversation.ts'
import { checkedArray, checkedObject, invalid, isObject } from './invalid.ts'

/**
 * Takes a conversation out of unchecked data, a JSON file for example. Further keys are allowed.
 *
 * @throws HoldfastError `INVALID_OPTIONS`, with the path of what is wrong.
 */
export function parseConversation(value: unknown, path = 'conversation'): Conversation {
  const object = checkedObject(path, value)
  checkId(`${path}.id`, object['id'])
  checkMessages(`${path}.messages`, object['messages'])
  return value as Conversation
}

/** Checks scripts and that their ids differ. */
export function parseScripts(value: unknown, path = 'conversations'): readonly Script[] {
  const scripts = checkedArray(path, value).map((item, index) => parseScript(item, `${path}[${index}]`))
  if (scripts.length === 0) throw new HoldfastError('INVALID_OPTIONS', `${path} must hold at least one conversation`)
  const ids = scripts.map((script) => script.id)
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (twice !== -1) throw new HoldfastError('INVALID_OPTIONS', `${path}[${twice}].id is used twice: ${ids[twice]}`)
  return scripts
}

/** Messages as a request or a script has them. */
export function checkMessages(path: string, value: unknown): asserts value is readonly ScriptMessage[] {
  for (const [index, message] of checkedArray(path, value).entries()) checkMessage(`${path}[${index}]`, message)
}

export function checkMessage(path: string, value: unknown): asserts value is ScriptMessage {
  const message = checkedObject(path, value)
  const content = message['content']
  switch (message['role']) {
    case 'system':
    case 'developer':
    case 'user':
      return checkContent(`${path}.content`, content)
    case 'assistant':
      if (content !== null && content !== undefined) checkContent(`${path}.content`, content)
      return checkToolCalls(`${path}.tool_calls`, message['tool_calls'])
    case 'tool':
      if (typeof message['tool_call_id'] !== 'string') throw invalid(`${path}.tool_call_id`, 'a string', message['tool_call_id'])
      if (content !== null && !isWildcard(content)) checkContent(`${path}.content`, content)
      return
    default:
      throw invalid(`${path}.role`, 'system, developer, user, assistant or tool', message['role'])
  }
}

function parseScript(value: unknown, path: string): Script {
  if (!isObject(value) || !('reply' in value)) return parseConversation(value, path)
  checkId(`${path}.id`, value['id'])
  if (typeof value['reply'] !== 'function') throw invalid(`${path}.reply`, 'a function', value['reply'])
  return value as unknown as ReplyScript
}

function checkId(path: string, value: unknown): void {
  // It travels as a header.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) throw invalid(path, 'printable ASCII text without spaces', value)
}

function checkContent(path: string, value: unknown): void {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) throw invalid(path, 'text or an array of parts', value)
  for (const [index, part] of value.entries()) {
    if (!isObject(part) || typeof part['type'] !== 'string') throw invalid(`${path}[${index}]`, 'a part with a type', part)
  }
}

function checkToolCalls(path: string, value: unknown): void {
  if (value === undefined || value === null) return
  for (const [index, item] of checkedArray(path, value).entries()) {
    const call = checkedObject(`${path}[${index}]`, item)
    if (typeof call['id'] !== 'string') throw invalid(`${path}[${index}].id`, 'a string', call['id'])
    const fn = checkedObject(`${path}[${index}].function`, call['function'])
    for (const key of ['name', 'arguments']) {
      if (typeof fn[key] !== 'string') throw invalid(`${path}[${index}].function.${key}`, key === 'name' ? 'a string' : 'JSON text', fn[key])
    }
  }
}

function isWildcard(value: unknown): value is AnyToolResult {
  return isObject(value) && value['any'] === true
}
