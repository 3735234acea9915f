/** Which answer a request gets: chosen by the conversation that it holds, never by counting. */
import type { AssistantMessage, ReplyRequest, ReplyScript, Script, ScriptMessage } from './conversation.ts'
import { invalid } from './invalid.ts'
import { match } from './match.ts'
import type { Match } from './match.ts'
import { canonicalJson, comparableMessages, leadingSystemMessages } from './normalise.ts'
import type { ComparableMessage } from './normalise.ts'
import { checkMessage } from './script.ts'

/** A script, compared once with itself. */
export interface PreparedScript {
  readonly script: Script
  /** Without the leading system messages; empty for a `reply` function. */
  readonly messages: readonly ScriptMessage[]
  readonly comparable: readonly ComparableMessage[]
}

/** A request, taken apart. */
export interface Asked {
  /** The header `x-conversation`. */
  readonly conversation: string | undefined
  readonly messages: readonly ScriptMessage[]
  readonly body: Readonly<Record<string, unknown>>
}

export interface Resolved {
  readonly kind: 'answer'
  readonly conversation: string
  /** Counted from 1. */
  readonly turn: number
  /** Names this state of the conversation: a request that is repeated has the same. */
  readonly state: string
  readonly message: AssistantMessage
}

/** Why there is no answer; `error` is the body's `error`. */
export interface Refused {
  readonly kind: 'refused'
  readonly error: RefusedError
}

export interface RefusedError {
  readonly message: string
  readonly type: 'invalid_request_error'
  readonly code: 'conversation_unknown' | 'conversation_ambiguous' | 'conversation_departed' | 'reply_failed' | 'request_invalid'
  /** The nearest script. */
  readonly conversation?: string
  /** The index in the request's messages at which it departed from the nearest script, and the role there. */
  readonly position?: number
  readonly role?: string
}

export function prepareScript(script: Script): PreparedScript {
  const messages = 'reply' in script ? [] : script.messages.slice(leadingSystemMessages(script.messages))
  return { script, messages, comparable: comparableMessages(messages) }
}

/** Finds the answer. Pure, as far as `reply` functions are. */
export function resolve(scripts: readonly PreparedScript[], asked: Asked): Resolved | Refused {
  const skipped = leadingSystemMessages(asked.messages)
  const messages = asked.messages.slice(skipped)
  const turn = messages.filter((message) => message.role === 'assistant').length + 1
  const comparable = comparableMessages(messages)

  const named = asked.conversation === undefined ? scripts : scripts.filter(({ script }) => script.id === asked.conversation)
  if (named.length === 0) return refused('conversation_unknown', `No conversation is called ${asked.conversation}. ${known(scripts)}`)
  // A function answers anything, so beside other scripts it has to be asked for by name.
  const [only] = named
  if (named.length === 1 && only && 'reply' in only.script) {
    return replied(only.script, { messages, turn, body: asked.body }, canonicalJson(comparable))
  }

  const tried = named.filter(({ script }) => !('reply' in script)).map((prepared) => ({ prepared, at: match(prepared.comparable, comparable) }))
  const found = tried.flatMap(({ prepared, at }) => (at.kind === 'answer' ? [{ prepared, message: prepared.messages[at.index] }] : []))
  const [first, second] = found
  if (first && second) {
    const ids = found.map(({ prepared }) => prepared.script.id).join(', ')
    return refused('conversation_ambiguous', `Several conversations go like this one: ${ids}. Send the header x-conversation with the id of one`)
  }
  if (first?.message?.role === 'assistant') {
    return { kind: 'answer', conversation: first.prepared.script.id, turn, state: '', message: first.message }
  }
  return departed(tried, skipped, scripts)
}

function replied(script: ReplyScript, request: ReplyRequest, state: string): Resolved | Refused {
  const { id } = script
  try {
    const message: unknown = script.reply(request)
    checkMessage('reply()', message)
    if (message.role !== 'assistant') throw invalid('reply().role', 'assistant', message.role)
    return { kind: 'answer', conversation: id, turn: request.turn, state, message }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return refused('reply_failed', `The function of conversation ${id} failed: ${text}`, { conversation: id })
  }
}

function departed(tried: readonly { prepared: PreparedScript; at: Match }[], skipped: number, scripts: readonly PreparedScript[]): Refused {
  let nearest: { id: string; at: Match & { kind: 'departed' } } | undefined
  for (const { prepared, at } of tried) {
    if (at.kind === 'departed' && at.at > (nearest?.at.at ?? -1)) nearest = { id: prepared.script.id, at }
  }
  if (!nearest) return refused('conversation_unknown', `Name the conversation with the header x-conversation. ${known(scripts)}`)
  const { id, at } = nearest
  const position = skipped + at.at
  const role = at.got?.role ?? at.expected?.role
  const place = { conversation: id, position, ...(role === undefined ? {} : { role }) }
  const text = `The conversation departs from the nearest script, ${id}, at messages[${position}] (${role ?? 'end'}): `
    + `expected ${shown(at.expected, 'the end of the script')}, got ${shown(at.got, 'the end of the request')}`
  return refused('conversation_departed', at.at === 0 ? `${text}. ${known(scripts)}` : text, place)
}

function refused(code: RefusedError['code'], message: string, place: Partial<RefusedError> = {}): Refused {
  return { kind: 'refused', error: { message, type: 'invalid_request_error', code, ...place } }
}

function shown(message: ComparableMessage | undefined, end: string): string {
  if (!message) return end
  const text = message.text === undefined ? 'any result' : JSON.stringify(clipped(message.text))
  return `${message.role}${message.toolCallId === undefined ? '' : ` (${message.toolCallId})`} ${text}`
}

function clipped(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}

function known(scripts: readonly PreparedScript[]): string {
  const ids = scripts.map(({ script }) => script.id)
  return `Known: ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}`
}
