/** Scripts of the model server: conversations as plain data, in the form of OpenAI chat completions. */

/** Content of a message: text, or parts of which `text` parts are joined when conversations are compared. */
export type MessageContent = string | readonly ContentPart[]

export interface ContentPart {
  readonly type: string
  readonly [key: string]: unknown
}

/** A call as OpenAI writes it; `arguments` is JSON text. */
export interface ScriptToolCall {
  readonly id: string
  readonly type?: 'function' | undefined
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface SystemMessage {
  readonly role: 'system' | 'developer'
  readonly content: MessageContent
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: MessageContent
}

/** What the model answers. `content: null`, `''` and an absent content are the same. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content?: MessageContent | null | undefined
  readonly tool_calls?: readonly ScriptToolCall[] | undefined
  /** A refusal of the model, sent in the place of content. */
  readonly refusal?: string | null | undefined
  /** Reasoning sent before the content; not compared when the client sends it back. */
  readonly reasoning_content?: string | null | undefined
  /** Default: `tool_calls` where there are calls, else `stop`. */
  readonly finish_reason?: string | undefined
  /** Tokens; default: about a quarter of the characters. */
  readonly usage?: ScriptUsage | undefined
}

/** Tokens of one answer. */
export interface ScriptUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

/** Stands for whatever a real tool answers; plain data, so it may stand in a JSON file. */
export interface AnyToolResult {
  readonly any: true
}

/**
 * The content of a scripted tool message that matches every result.
 *
 * @example
 * conversation('refund').user('Refund order 7').assistant({ toolCalls: [{ name: 'refund' }] }).tool(anyToolResult).assistant('Done.')
 */
export const anyToolResult: AnyToolResult = Object.freeze({ any: true })

export interface ToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: MessageContent | AnyToolResult | null
  readonly name?: string | undefined
}

export type ScriptMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** A recorded or written conversation: the server answers with its assistant messages. Further keys are ignored. */
export interface Conversation {
  /** What the client sends as the header `x-conversation`. */
  readonly id: string
  readonly messages: readonly ScriptMessage[]
}

/** A request as a {@link ReplyScript} sees it. */
export interface ReplyRequest {
  /** The messages as they were sent, without the leading system messages. */
  readonly messages: readonly ScriptMessage[]
  /** Which answer this is: 1 + the number of assistant messages in the request. */
  readonly turn: number
  /** The whole body of the request. */
  readonly body: Readonly<Record<string, unknown>>
}

/** A conversation written as a function. It must be pure: the same messages, the same answer. */
export interface ReplyScript {
  readonly id: string
  /** What it throws goes to the client as a 400 error. */
  readonly reply: (request: ReplyRequest) => AssistantMessage
}

export type Script = Conversation | ReplyScript
