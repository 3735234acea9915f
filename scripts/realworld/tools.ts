/** The recorded agent's tools: each call goes to the world, with the idempotency key where it changes something. */
import { jsonSchema, tool, type ToolSet } from 'ai'
import { currentStep, type ToolPolicies, type ToolPolicy } from '../../src/index.ts'
import { changesState, type ToolSchema } from './recording.ts'
import type { Settling } from './protocol.ts'
import { carryOut, effectOf } from './world-client.ts'

export function worldTools(schemas: readonly ToolSchema[], world: string, conversation: string): ToolSet {
  return Object.fromEntries(schemas.map(({ function: { name, description, parameters } }) => [name, tool({
    ...(description !== undefined && { description }),
    inputSchema: jsonSchema<unknown>(parameters),
    execute: (input, { toolCallId, messages }) =>
      carryOut(world, {
        conversation,
        answer: messages.filter(({ role }) => role === 'assistant').length,
        callId: toolCallId,
        tool: name,
        input,
        key: changesState(name) ? (currentStep()?.idempotencyKey ?? null) : null,
        pid: process.pid,
      }),
  })]))
}

export function worldPolicies(schemas: readonly ToolSchema[], world: string, conversation: string, settling: Settling): ToolPolicies<ToolSet> {
  const reconcile: NonNullable<ToolPolicy<never, unknown>['reconcile']> = async ({ idempotencyKey }) => {
    const effect = await effectOf(world, idempotencyKey, conversation, process.pid)
    return effect.done ? { status: 'completed', output: effect.output } : { status: 'not-done' }
  }
  const changing: ToolPolicy<never, unknown> = settling === 'reconcile' ? { reconcile } : { onIncompleteTool: 'refuse' }
  return Object.fromEntries(schemas.map(({ function: { name } }) => [name, changesState(name) ? changing : { readOnly: true }]))
}
