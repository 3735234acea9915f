import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { generateText, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../index.ts'
import { testModel } from '../../test/support/model.ts'
import { repairMessages } from './orphans.ts'

const said: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: 'x' }] }
const prompt = (...ids: string[]): (LanguageModelV4Message & { role: 'assistant' })[] => [{ role: 'assistant', content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'get', input: {} })) }]
const answer = (toolCallId: string): LanguageModelV4Message => ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'get', output: { type: 'text', value: 'ok' } }] })
const user: ModelMessage = { role: 'user', content: 'x' }
const call = (...ids: string[]): ModelMessage => ({ role: 'assistant', content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'get', input: {} })) })
const result = (toolCallId: string): ModelMessage => ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'get', output: { type: 'text', value: 'ok' } }] })
const interrupted = { type: 'tool-result', toolName: 'get', output: { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' } }

const toApprove: ModelMessage = { role: 'assistant', content: [...(call('a').content as []), { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' }] }
const approval = (approved: boolean, reason?: string): ModelMessage => ({ role: 'tool', content: [{ type: 'tool-approval-response', approvalId: '1', approved, ...(reason !== undefined && { reason }) }] })
const given = (output: object): ModelMessage => ({ role: 'tool', content: [{ ...interrupted, toolCallId: 'a', output } as never] })
const cut = given(interrupted.output)
const denied = (reason?: string): ModelMessage => given({ type: 'execution-denied', reason })

describe('calls without a result (C19)', () => {
  it.each<[string, ModelMessage[]]>([
    ['messages without calls', [user]],
    ['a call with its result', [user, call('a'), result('a')]],
    ['a call whose result stands somewhere else', [result('a'), user, call('a'), user]],
    ['two calls of one id with two results', [user, call('a'), result('a'), user, call('a'), result('a')]],
    ['a call that waits for an approval', [user, toApprove]],
    ['a call that was just approved', [user, toApprove, approval(true)]],
    ['a call that was just denied', [user, toApprove, approval(false)]],
    ['a call that the provider executes', [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {}, providerExecuted: true }] }, user]],
  ])('%s are left as they are', (_what, messages) => {
    expect(repairMessages(messages)).toBe(messages)
  })

  it('get one right after the call, beside the results that are there', () => {
    expect(repairMessages([user, call('a', 'b'), result('a'), user])).toEqual([
      user, call('a', 'b'), { role: 'tool', content: [{ ...interrupted, toolCallId: 'b' }] }, result('a'), user,
    ])
  })

  it.each<[string, ModelMessage[], ModelMessage[]]>([
    ['whose id has a result from before', [user, call('a'), result('a'), user, call('a'), user], [user, call('a'), result('a'), user, call('a'), cut, user]],
    ['whose id is used again, with a result', [user, call('a'), user, call('a'), result('a'), user], [user, call('a'), cut, user, call('a'), result('a'), user]],
    ['that has half the results of its id in one message', [user, call('a', 'a'), result('a'), user], [user, call('a', 'a'), cut, result('a'), user]],
    ['that was approved and cut off', [user, toApprove, approval(true), user], [user, toApprove, cut, approval(true), user]],
    ['that was denied', [user, toApprove, approval(false, 'too much'), user], [user, toApprove, denied('too much'), approval(false, 'too much'), user]],
    ['that nobody approved', [user, toApprove, user], [user, toApprove, denied('nobody approved it before the conversation went on'), user]],
  ])('are those %s, and generateText takes what they become', async (_what, messages, whole) => {
    const model = testModel(() => ({ text: 'fine' }))
    expect(repairMessages(messages)).toEqual(whole)
    expect((await generateText({ model, messages: repairMessages(messages) })).text).toBe('fine')
  })

  it.each<[unknown, RegExp, RegExp]>([
    [undefined, /messages must be an array, got undefined/, /\{ role, content \}/],
    ['hello', /messages must be an array, got "hello"/, /generateText takes/],
    [[user, null], /messages\[1\] must be a message, got null/, /generateText takes/],
    [[{ content: 'x' }], /messages\[0\]\.role must be a text, got undefined/, /generateText takes/],
    [[user, { role: 'user', parts: [{ type: 'text', text: 'hi' }] }], /messages\[1\]\.content must be a text or an array of parts, got undefined/, /convertToModelMessages/],
    [[{ role: 'user', content: ['hi'] }], /messages\[0\]\.content\[0\] must be a part with a type, got "hi"/, /generateText takes/],
  ])('of %j are refused with the path and what to do', (messages, message, advice) => {
    const isRefusal: unknown = expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message), advice: expect.stringMatching(advice) })
    expect(() => repairMessages(messages as never)).toThrow(isRefusal as Error)
  })

  it('are what generateText refuses, and takes after the repair', async () => {
    const model = testModel(() => ({ text: 'fine' }))
    await expect(generateText({ model, messages: [user, call('a'), user] })).rejects.toThrow(/Tool result is missing/)
    expect((await generateText({ model, messages: repairMessages([user, call('a'), user]) })).text).toBe('fine')
  })

  it.each<[string, LanguageModelV4Prompt]>([
    ['an id that is used again', [...prompt('a'), answer('a'), said, ...prompt('a'), said]],
    ['a call that answers an id twice', [...prompt('a', 'a'), answer('a'), said]],
    ['a call that was to be approved', [{ role: 'assistant', content: [...prompt('a')[0]!.content, { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' }] } as never, said]],
  ])('are repaired there also where it is %s', async (_what, messages) => {
    const model = testModel(() => ({ text: 'fine' }))
    const agent = defineAgent('a', async (run) => (await run.model(model).doGenerate({ prompt: messages })).content.length)
    await createRunner({ agents: [agent], store: memoryStore() }).run(agent, 1, { runId: 'r' })
    const parts = model.requests[0]!.prompt.flatMap((m) => (typeof m.content === 'string' ? [] : m.content.map((part) => part.type as string)))
    expect(parts.filter((type) => type === 'tool-result')).toHaveLength(parts.filter((type) => type === 'tool-call').length)
  })

  it('are repaired by a durable model in a loop of your own, with a warning', async () => {
    const model = testModel(() => ({ text: 'fine' }))
    const warnings: string[] = []
    const agent = defineAgent('a', async (run) => {
      const { content } = await run.model(model).doGenerate({ prompt: [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'get', input: {} }] }, { role: 'user', content: [{ type: 'text', text: 'and?' }] }] })
      return content.length
    })
    await createRunner({ agents: [agent], store: memoryStore(), onEvent: (e) => e.type === 'warning' && warnings.push(e.code) }).run(agent, 1, { runId: 'r' })
    expect(model.requests[0]!.prompt.map((m) => m.role)).toEqual(['assistant', 'tool', 'user'])
    expect(warnings).toEqual(['MESSAGES_REPAIRED'])
  })
})
