import { describe, expect, it } from 'vitest'
import { assistantMessage } from './builder.ts'
import type { Answer } from './builder.ts'
import { completion } from './completion.ts'
import type { Fault } from './faults.ts'
import { wireActions } from './wire.ts'

const text = 'A text of more than sixteen characters.'

function sent(answer: string | Answer, format: { streamed?: boolean; includeUsage?: boolean }, fault?: Fault): string[] {
  const source = { conversation: 'a', turn: 1, model: 'm', request: [], message: assistantMessage(answer) }
  const actions = wireActions(completion(source), { streamed: true, includeUsage: false, ...format }, fault)
  return actions.map((action) => {
    switch (action.do) {
      case 'head':
        return `${action.status} ${action.headers['content-type']}`
      case 'wait':
        return `wait ${action.ms}`
      case 'write':
        return described(action.text)
      default:
        return action.do
    }
  })
}

/** A chunk in a word: its delta, its finish reason, its usage. */
function described(written: string): string {
  if (!written.startsWith('data: {')) return written.trim()
  const json: unknown = parse(written.slice(6))
  if (typeof json !== 'object' || json === null || !('choices' in json)) return written.trim()
  const [choice] = json.choices as { delta: object; finish_reason: string | null }[]
  if (!choice) return 'usage'
  return choice.finish_reason ?? JSON.stringify(choice.delta)
}

function parse(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}

const HEAD = '200 text/event-stream; charset=utf-8'
const JSON_HEAD = '200 application/json'
const DELTAS = ['{"role":"assistant","content":"A text of more t"}', '{"content":"han sixteen char"}', '{"content":"acters."}']

describe('a streamed answer', () => {
  it('is deltas, the finish reason, and the end mark', () => {
    expect(sent(text, {})).toEqual([HEAD, ...DELTAS, 'stop', 'data: [DONE]', 'end'])
  })

  it('has its usage after the finish reason where that was asked for', () => {
    expect(sent('x', { includeUsage: true })).toEqual([HEAD, '{"role":"assistant","content":"x"}', 'stop', 'usage', 'data: [DONE]', 'end'])
  })

  it('has one delta even when it is empty', () => {
    expect(sent('', {})).toEqual([HEAD, '{"role":"assistant","content":""}', 'stop', 'data: [DONE]', 'end'])
  })

  it('sends the arguments of a call in several deltas, a call after the other', () => {
    const calls = sent({ toolCalls: [{ name: 'find', input: { order: 7 } }, { name: 'log' }] }, {})
    expect(calls.slice(1, -2)).toEqual([
      '{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"find","arguments":""}}]}',
      '{"tool_calls":[{"index":0,"function":{"arguments":"{\\"orde"}}]}',
      '{"tool_calls":[{"index":0,"function":{"arguments":"r\\":7}"}}]}',
      '{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"log","arguments":""}}]}',
      '{"tool_calls":[{"index":1,"function":{"arguments":"{"}}]}',
      '{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}',
      'tool_calls',
    ])
  })

  it('splits no character', () => {
    expect(sent('123456789012345😀😀', {}).slice(1, 3)).toEqual([
      '{"role":"assistant","content":"123456789012345😀"}',
      '{"content":"😀"}',
    ])
  })

  it('sends reasoning first, a refusal in its own field, and the finish reason of the script', () => {
    expect(sent({ reasoning: 'Hm.', refusal: 'No.', finishReason: 'content_filter' }, {}).slice(1, -2)).toEqual([
      '{"role":"assistant","reasoning_content":"Hm."}',
      '{"refusal":"No."}',
      'content_filter',
    ])
  })
})

describe('the faults of a streamed answer', () => {
  const error = 'data: {"error":{"message":"no"}}'
  const table: [string, Fault, string[]][] = [
    ['an error response', { kind: 'status', status: 400, body: { error: 'bad' } }, ['400 application/json', '{"error":"bad"}', 'end']],
    ['an error response with text', { kind: 'status', status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' }, ['502 text/html', '<html>', 'end']],
    ['a delay', { kind: 'delay', beforeMs: 5, betweenMs: 1 }, ['wait 5', HEAD, DELTAS[0]!, 'wait 1', DELTAS[1]!, 'wait 1', DELTAS[2]!, 'wait 1', 'stop', 'wait 1', 'data: [DONE]', 'end']],
    ['no answer', { kind: 'hang' }, ['hang']],
    ['an answer that stops', { kind: 'hang', after: 0 }, [HEAD, 'hang']],
    ['a reset before the response', { kind: 'reset' }, ['reset']],
    ['a reset in the middle', { kind: 'reset', after: 2 }, [HEAD, DELTAS[0]!, DELTAS[1]!, 'reset']],
    ['a reset before the finish reason', { kind: 'reset', after: 99 }, [HEAD, ...DELTAS, 'reset']],
    ['a reset before the end mark', { kind: 'reset', after: 'finish' }, [HEAD, ...DELTAS, 'stop', 'reset']],
    ['a cut', { kind: 'cut', after: 1 }, [HEAD, DELTAS[0]!, 'end']],
    ['a cut without a place', { kind: 'cut' }, [HEAD, ...DELTAS, 'end']],
    ['a missing end mark', { kind: 'cut', after: 'finish' }, [HEAD, ...DELTAS, 'stop', 'end']],
    ['an error event at once', { kind: 'error-event', error: { message: 'no' } }, [HEAD, error, 'end']],
    ['an error event in the middle', { kind: 'error-event', after: 2, error: { message: 'no' } }, [HEAD, DELTAS[0]!, DELTAS[1]!, error, 'end']],
    ['an error as body', { kind: 'error-body', error: { message: 'no' } }, [JSON_HEAD, '{"error":{"message":"no"}}', 'end']],
    ['garbage', { kind: 'garbage', after: 1, text: '{oops' }, [HEAD, DELTAS[0]!, 'data: {oops', DELTAS[1]!, DELTAS[2]!, 'stop', 'data: [DONE]', 'end']],
  ]
  it.each(table)('%s', (_name, fault, expected) => {
    expect(sent(text, {}, fault)).toEqual(expected)
  })
})

describe('an answer that is not streamed', () => {
  const plain = (fault?: Fault): string[] => sent(text, { streamed: false }, fault)
  const body = plain().slice(1, -1)

  it('is one body, written in pieces', () => {
    expect(plain().at(0)).toBe(JSON_HEAD)
    expect(body.length).toBeGreaterThan(3)
    expect(JSON.parse(body.join(''))).toMatchObject({
      object: 'chat.completion',
      model: 'm',
      choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    })
  })

  it('can be cut short, but never comes whole with a fault', () => {
    expect(plain({ kind: 'cut', after: 1 })).toEqual([JSON_HEAD, body[0], 'end'])
    expect(plain({ kind: 'reset', after: 99 })).toEqual([JSON_HEAD, ...body.slice(0, -1), 'reset'])
    expect(plain({ kind: 'hang', after: 'finish' })).toEqual([JSON_HEAD, ...body.slice(0, -1), 'hang'])
  })

  it('has the error as its body, also where the fault is an event', () => {
    expect(plain({ kind: 'error-event', error: { message: 'no' } })).toEqual([JSON_HEAD, '{"error":{"message":"no"}}', 'end'])
    expect(plain({ kind: 'garbage', text: '<html>' })).toEqual([JSON_HEAD, '<html>', 'end'])
  })

  it('has the default bodies of its status', () => {
    expect(plain({ kind: 'status', status: 529 })[1]).toContain('"type":"overloaded_error"')
    expect(plain({ kind: 'status', status: 429 })[1]).toContain('"type":"rate_limit_error"')
    expect(plain({ kind: 'status', status: 500 })[1]).toContain('"type":"server_error"')
    expect(plain({ kind: 'status', status: 422 })[1]).toContain('"type":"invalid_request_error"')
  })
})
