import { describe, expect, it } from 'vitest'
import { assistantMessage, conversation } from './builder.ts'
import { anyToolResult } from './conversation.ts'
import type { Conversation } from './conversation.ts'
import { mergeToolCalls } from './merge-tool-calls.ts'
import { parseScriptFile } from './script-file.ts'
import { parseScripts } from './script.ts'

describe('scripts are checked, with the path of what is wrong', () => {
  const wrong: [string, unknown, string][] = [
    ['none', [], 'conversations must hold at least one conversation'],
    ['no id', [{ messages: [] }], 'conversations[0].id must be printable ASCII'],
    ['an id that cannot be a header', [{ id: 'ä', messages: [] }], 'conversations[0].id must be printable ASCII'],
    ['an id twice', [{ id: 'a', messages: [] }, { id: 'a', messages: [] }], 'conversations[1].id is used twice: a'],
    ['an unknown role', [{ id: 'a', messages: [{ role: 'robot' }] }], 'conversations[0].messages[0].role must be system'],
    ['a user without content', [{ id: 'a', messages: [{ role: 'user' }] }], 'conversations[0].messages[0].content must be text or an array of parts, got undefined'],
    ['a part without type', [{ id: 'a', messages: [{ role: 'user', content: [{}] }] }], 'conversations[0].messages[0].content[0] must be a part with a type'],
    ['a tool message without id', [{ id: 'a', messages: [{ role: 'tool', content: '' }] }], 'conversations[0].messages[0].tool_call_id must be a string'],
    [
      'arguments that are no text',
      [{ id: 'a', messages: [{ role: 'assistant', tool_calls: [{ id: '1', function: { name: 'x', arguments: {} } }] }] }],
      'conversations[0].messages[0].tool_calls[0].function.arguments must be JSON text, got {}',
    ],
    ['a reply that is no function', [{ id: 'a', reply: 'hello' }], 'conversations[0].reply must be a function, got "hello"'],
  ]
  it.each(wrong)('%s', (_name, scripts, message) => {
    expect(() => parseScripts(scripts)).toThrow(message)
  })

  it('a file may hold one conversation, an array, or conversations with faults', () => {
    const one = { id: 'a', messages: [], tool_calls: 0 }
    expect(parseScriptFile(one).conversations).toEqual([one])
    expect(parseScriptFile([one]).conversations).toEqual([one])
    expect(parseScriptFile({ conversations: [one], faults: [{ turn: 1, fault: { kind: 'hang' } }] }).faults).toHaveLength(1)
    expect(() => parseScriptFile({ conversations: [one], fault: [] })).toThrow('script.fault is not known')
  })
})

describe('the builder', () => {
  const base = conversation('refund')
    .user('Refund 7')
    .assistant({ text: 'On it.', toolCalls: [{ name: 'find', input: { order: 7 } }, { name: 'log', arguments: '{oops' }] })
    .tool({ found: true })
    .tool('logged')
    .assistant({ toolCalls: [{ name: 'refund', id: 'own' }] })

  it('writes plain messages, with call ids that are numbered through', () => {
    const done = base.tool(anyToolResult).assistant('Refunded.')
    expect(JSON.parse(JSON.stringify(done))).toEqual({
      id: 'refund',
      messages: [
        { role: 'user', content: 'Refund 7' },
        {
          role: 'assistant',
          content: 'On it.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"order":7}' } },
            { id: 'call_2', type: 'function', function: { name: 'log', arguments: '{oops' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"found":true}' },
        { role: 'tool', tool_call_id: 'call_2', content: 'logged' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'own', type: 'function', function: { name: 'refund', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'own', content: { any: true } },
        { role: 'assistant', content: 'Refunded.' },
      ],
    })
  })

  it('leaves what it started from as it was', () => {
    const length = base.messages.length
    base.tool('x').assistant('y')
    expect(base.messages).toHaveLength(length)
  })

  it('refuses a result that no call is open for', () => {
    expect(() => conversation('a').user('x').tool('y')).toThrow('conversation a: tool() at message 1 answers no tool call')
    expect(() => base.tool('x').tool('y')).toThrow('answers no tool call')
  })

  it('writes endings other than stop', () => {
    expect(assistantMessage({ text: 'x', finishReason: 'length', usage: { prompt_tokens: 1, completion_tokens: 2 } }))
      .toEqual({ role: 'assistant', content: 'x', finish_reason: 'length', usage: { prompt_tokens: 1, completion_tokens: 2 } })
  })
})

describe('merging neighbouring tool-call turns', () => {
  const calling = (...ids: string[]): { toolCalls: { name: string; id: string }[] } => ({ toolCalls: ids.map((id) => ({ name: 'look', id })) })
  const shape = (script: Conversation): string => script.messages.map((message) => {
    if (message.role === 'tool') return `t${message.tool_call_id}`
    return message.role === 'assistant' ? `a${(message.tool_calls ?? []).map((call) => call.id).join('')}` : 'u'
  }).join(' ')
  const sequential = conversation('a').user('q').assistant(calling('1')).tool('').assistant(calling('2')).tool('').assistant(calling('3')).tool('').assistant('end')

  it('makes one response with parallel calls', () => {
    expect(shape(mergeToolCalls(sequential))).toBe('u a123 t1 t2 t3 a')
  })

  it('in groups of at most so many', () => {
    expect(shape(mergeToolCalls(sequential, 2))).toBe('u a12 t1 t2 a3 t3 a')
  })

  it('not over a repeated id, a text, or a user turn', () => {
    const repeated = conversation('a').user('q').assistant(calling('1')).tool('').assistant(calling('1')).tool('')
    expect(shape(mergeToolCalls(repeated))).toBe('u a1 t1 a1 t1')
    const text = conversation('a').user('q').assistant(calling('1')).tool('').assistant({ text: 'and', ...calling('2') }).tool('')
    expect(shape(mergeToolCalls(text))).toBe('u a1 t1 a2 t2')
    const between = conversation('a').user('q').assistant(calling('1')).tool('').user('q').assistant(calling('2')).tool('')
    expect(shape(mergeToolCalls(between))).toBe('u a1 t1 u a2 t2')
  })
})
