import { generateText, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../index.ts'
import { testModel } from '../../test/support/model.ts'
import { repairMessages } from './orphans.ts'

const user: ModelMessage = { role: 'user', content: 'x' }
const call = (...ids: string[]): ModelMessage => ({ role: 'assistant', content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'get', input: {} })) })
const result = (toolCallId: string): ModelMessage => ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'get', output: { type: 'text', value: 'ok' } }] })
const interrupted = { type: 'tool-result', toolName: 'get', output: { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' } }

describe('calls without a result (C19)', () => {
  it.each<[string, ModelMessage[]]>([
    ['messages without calls', [user]],
    ['a call with its result', [user, call('a'), result('a')]],
    ['a call whose result stands somewhere else', [result('a'), user, call('a'), user]],
    ['a call that waits for an approval', [{ role: 'assistant', content: [...(call('a').content as []), { type: 'tool-approval-request', approvalId: '1', toolCallId: 'a' }] }]],
    ['a call that the provider executes', [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {}, providerExecuted: true }] }, user]],
  ])('%s are left as they are', (_what, messages) => {
    expect(repairMessages(messages)).toBe(messages)
  })

  it('get one right after the call, beside the results that are there', () => {
    expect(repairMessages([user, call('a', 'b'), result('a'), user])).toEqual([
      user, call('a', 'b'), { role: 'tool', content: [{ ...interrupted, toolCallId: 'b' }] }, result('a'), user,
    ])
  })

  it('are what generateText refuses, and takes after the repair', async () => {
    const model = testModel(() => ({ text: 'fine' }))
    await expect(generateText({ model, messages: [user, call('a'), user] })).rejects.toThrow(/Tool result is missing/)
    expect((await generateText({ model, messages: repairMessages([user, call('a'), user]) })).text).toBe('fine')
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
