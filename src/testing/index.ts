/** Tools to test agents with: a scripted model server that speaks OpenAI chat completions, and a clock that moves when told. */
export { manualClock } from '../core/manual-clock.ts'
export type { ManualClock } from '../core/manual-clock.ts'
export { anyToolResult } from './conversation.ts'
export type {
  AnyToolResult,
  AssistantMessage,
  ContentPart,
  Conversation,
  MessageContent,
  ReplyRequest,
  ReplyScript,
  Script,
  ScriptMessage,
  ScriptToolCall,
  ScriptUsage,
  SystemMessage,
  ToolMessage,
  UserMessage,
} from './conversation.ts'
export { assistantMessage, conversation, ConversationBuilder } from './builder.ts'
export type { Answer, AnswerToolCall } from './builder.ts'
export { parseConversation } from './script.ts'
export { mergeToolCalls } from './merge-tool-calls.ts'
export { typicalFaults } from './faults.ts'
export type { Fault, FaultKind, FaultPlan, FaultPoint, PlannedFault, RandomFaults } from './faults.ts'
export { randomFaults } from './fault-plan.ts'
export type { RandomFaultsOptions } from './fault-plan.ts'
export { startModelServer } from './server.ts'
export type { ModelServer, ModelServerOptions } from './server.ts'
export type { RecordedRequest } from './answering.ts'
export { startModelServerProcess } from './model-server-process.ts'
export type { ModelServerProcess, ModelServerProcessOptions } from './model-server-process.ts'
