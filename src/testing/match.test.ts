import { describe, expect, it } from 'vitest'
import { anyToolResult } from './conversation.ts'
import type { ScriptMessage, ScriptToolCall } from './conversation.ts'
import { match } from './match.ts'
import { comparableMessages, leadingSystemMessages } from './normalise.ts'

const look = (id: string, args = '{"a":1,"b":[2]}'): ScriptToolCall[] => [{ id, type: 'function', function: { name: 'look', arguments: args } }]
const call = (id: string, args?: string): ScriptMessage => ({ role: 'assistant', content: null, tool_calls: look(id, args) })
const calls = (...ids: string[]): ScriptMessage => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({ id, function: { name: 'look', arguments: '{}' } })),
})
const result = (id: string, content: string): ScriptMessage => ({ role: 'tool', tool_call_id: id, content })
const user = (content: string): ScriptMessage => ({ role: 'user', content })
const said = (content: string): ScriptMessage => ({ role: 'assistant', content })

const at = (script: ScriptMessage[], request: ScriptMessage[]): ReturnType<typeof match> => match(comparableMessages(script), comparableMessages(request))

describe('a message counts as the same when only what providers change differs', () => {
  const same: [string, ScriptMessage, ScriptMessage][] = [
    ['content null and absent', call('1'), { role: 'assistant', tool_calls: look('1') }],
    ['content null and empty', call('1'), { role: 'assistant', content: '', tool_calls: look('1') }],
    ['key order and spaces of arguments', call('1'), call('1', '{ "b": [2], "a": 1 }')],
    ['empty arguments and {}', call('1', ''), call('1', '{}')],
    ['arguments that do not parse, sent back as {}', call('1', '{"a":'), call('1', '{}')],
    ['arguments that do not parse, sent back as a JSON string', call('1', '{"a":'), call('1', '"{\\"a\\":"')],
    ['text and text parts', user('ab'), { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }],
    ['spaces of a JSON result', result('1', '{"a": [1, 2]}'), result('1', '{"a":[1,2]}')],
    ['a result as text and as a JSON string', result('1', 'fine'), result('1', '"fine"')],
    ['an empty result', result('1', ''), result('1', '""')],
    ['the name of a tool message', result('1', 'x'), { role: 'tool', tool_call_id: '1', content: 'x', name: 'look' }],
    ['a refusal sent back as content', { role: 'assistant', content: null, refusal: 'No.' }, said('No.')],
    ['reasoning that is not sent back', { role: 'assistant', content: 'x', reasoning_content: 'why' }, said('x')],
  ]
  it.each(same)('%s', (_name, script, request) => {
    expect(at([script, said('end')], [request])).toEqual({ kind: 'answer', index: 1 })
  })

  const different: [string, ScriptMessage, ScriptMessage][] = [
    ['text', user('a'), user('b')],
    ['role', user('a'), said('a')],
    ['the id of a call', call('1'), call('2')],
    ['a value in the arguments', call('1'), call('1', '{"a":2,"b":[2]}')],
    ['the order of an array in the arguments', call('1', '{"a":[1,2]}'), call('1', '{"a":[2,1]}')],
    ['the order of the calls', calls('1', '2'), calls('2', '1')],
    ['a number and its text in a result of JSON', result('1', '{"a":1}'), result('1', '{"a":"1"}')],
    ['an own __proto__ in the arguments', call('1', '{"__proto__":1}'), call('1', '{}')],
    ['an image', { role: 'user', content: [{ type: 'image_url', image_url: 'a' }] }, { role: 'user', content: [{ type: 'image_url', image_url: 'b' }] }],
  ]
  it.each(different)('but not: %s', (_name, script, request) => {
    expect(at([script, said('end')], [request])).toMatchObject({ kind: 'departed', at: 0 })
  })
})

describe('where a request stands', () => {
  const script = [user('q'), calls('1', '2'), result('1', 'one'), result('2', 'two'), said('done'), user('more'), said('end')]

  it('each prefix before an assistant message asks for that message', () => {
    const asked = script.flatMap((_, length) => {
      const found = at(script, script.slice(0, length))
      return found.kind === 'answer' ? [found.index] : []
    })
    expect(asked).toEqual([1, 4, 6])
  })

  it('the results of one turn may come in any order', () => {
    expect(at(script, [user('q'), calls('1', '2'), result('2', 'two'), result('1', 'one')])).toEqual({ kind: 'answer', index: 4 })
  })

  it('a result of the wrong call, or one twice, is none', () => {
    expect(at(script, [user('q'), calls('1', '2'), result('1', 'two')])).toMatchObject({ kind: 'departed', at: 2, expected: { text: 'one' } })
    expect(at(script, [user('q'), calls('1', '2'), result('1', 'one'), result('1', 'one')])).toMatchObject({ at: 3, expected: { text: 'two' } })
  })

  it('a missing result is where the request departs', () => {
    expect(at(script, [user('q'), calls('1', '2'), result('2', 'two')])).toMatchObject({ at: 3, expected: { toolCallId: '1' }, got: undefined })
    expect(at(script, [user('q'), calls('1', '2'), result('2', 'two'), said('done')])).toMatchObject({ at: 3, expected: { toolCallId: '1' } })
  })

  it('two calls with one id take their results in the order in which they come', () => {
    const twice = [user('q'), calls('1', '1'), result('1', 'a'), result('1', 'b'), said('done')]
    expect(at(twice, twice.slice(0, 4))).toEqual({ kind: 'answer', index: 4 })
    expect(at(twice, [user('q'), calls('1', '1'), result('1', 'b'), result('1', 'a')])).toEqual({ kind: 'answer', index: 4 })
    expect(at(twice, [user('q'), calls('1', '1'), result('1', 'b'), result('1', 'b')])).toMatchObject({ kind: 'departed', at: 3 })
  })

  it('a wildcard takes any result, after an exact one had its turn', () => {
    const wild = [user('q'), calls('1', '1'), { role: 'tool', tool_call_id: '1', content: anyToolResult } as const, result('1', 'b'), said('done')]
    expect(at(wild, [user('q'), calls('1', '1'), result('1', 'b'), result('1', 'whatever')])).toEqual({ kind: 'answer', index: 4 })
    expect(at(wild, [user('q'), calls('1', '1'), result('1', 'x'), result('1', 'y')])).toMatchObject({ kind: 'departed', at: 3 })
  })

  it('a request beyond the end departs there', () => {
    expect(at(script, [...script, user('and?')])).toMatchObject({ kind: 'departed', at: 7, expected: undefined })
    expect(at(script, script)).toMatchObject({ kind: 'departed', at: 7, expected: undefined, got: undefined })
  })

  it('leading system messages are counted, later ones are not', () => {
    expect(leadingSystemMessages([{ role: 'system', content: 's' }, { role: 'developer', content: 'd' }, user('q'), { role: 'system', content: 's' }])).toBe(2)
    expect(leadingSystemMessages([])).toBe(0)
  })
})
