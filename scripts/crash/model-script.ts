/** What the model says, in each program: a function of the conversation alone. */
import { assistantMessage, type Answer, type ReplyRequest, type ReplyScript } from '../../src/testing/index.ts'
import { UNKNOWN } from './expected.ts'

const PREPARE: Answer = { toolCalls: [{ id: 'prepare', name: 'prepare' }] }
const pay = (id: string, order: string): Answer => ({ toolCalls: [{ id, name: 'pay', input: { order } }] })

const script = (id: string, reply: (request: ReplyRequest) => Answer | string): ReplyScript => ({ id, reply: (request) => assistantMessage(reply(request)) })

/** Says in the end what it was told of the calls named `pay...`. */
function told({ messages }: ReplyRequest): string {
  const results = messages.flatMap((m) => (m.role === 'tool' && m.tool_call_id.startsWith('pay') ? [String(m.content)] : []))
  return `told: ${results.map((text) => (/outcome is unknown/.test(text) ? UNKNOWN : text)).join(' | ')}`
}

const PAYMENT: ReplyScript['reply'] = (request) => assistantMessage([PREPARE, pay('pay', 'order-1')][request.turn - 1] ?? told(request))

/** The text of the message that a conversation begins with. */
const asked = ({ messages }: ReplyRequest): string => {
  const content = messages[0]?.role === 'user' ? messages[0].content : ''
  return typeof content === 'string' ? content : content.map((part) => String(part['text'] ?? '')).join('')
}

/** What the tools said last, whatever the order of their answers. */
const lastResults = ({ messages }: ReplyRequest): string => {
  const from = messages.findLastIndex((m) => m.role === 'assistant')
  return messages.slice(from + 1).flatMap((m) => (m.role === 'tool' ? [String(m.content)] : [])).toSorted().join(', ')
}

export const MODEL_SCRIPTS: readonly ReplyScript[] = [
  { id: 'tool', reply: PAYMENT },
  { id: 'composite', reply: PAYMENT },
  script('effect-key', (request) => [PREPARE, pay('pay', 'order-1'), pay('pay2', 'order-2'), pay('pay3', 'order-1')][request.turn - 1] ?? told(request)),
  script('step', (request) => (asked(request) === 'prepare' ? [PREPARE, 'prepared'][request.turn - 1]! : asked(request))),
  script('hosted', ({ turn }) => (turn === 1 ? PREPARE : 'told: nothing')),
  script('trip', (request) => {
    const region = asked(request)
    const call = (id: string, name: string, more = {}): { id: string; name: string; input: object } => ({ id, name, input: { region, ...more } })
    return [
      { toolCalls: [call('s1', 'search', { what: 'trains' }), call('s2', 'search', { what: 'hotels' }), call('r', 'reserve')] },
      { toolCalls: [call('p', 'pay'), call('n', 'notify'), call('l', 'log')] },
    ][request.turn - 1] ?? `booked: ${lastResults(request)}`
  }),
  script('audit', (request) => (request.turn === 1 ? { toolCalls: [{ id: 'f', name: 'file', input: {} }] } : `audited: ${lastResults(request)}`)),
]
