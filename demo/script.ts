/** What the scripted model says, and what goes wrong between it and the agent. */
import { anyToolResult, conversation, type FaultPlan } from '../src/testing/index.ts'
import { charges, customers, orders, policies, receiptOf, ticket } from './ticket.ts'

/**
 * The conversation. The results of the tools are part of it: a run that went on with another answer than the one that
 * the world gave (a second refund has another number) would be refused by the model server.
 */
export const script = conversation('support')
  .user(ticket.text)
  .assistant({
    text: 'I look up the order and the customer.',
    toolCalls: [{ name: 'get_order', input: { order: 'A-1042' } }, { name: 'get_customer', input: { customer: 'C-77' } }],
  })
  .tool(orders['A-1042'])
  .tool(customers['C-77'])
  .assistant({ text: 'Now the policy on refunds.', toolCalls: [{ name: 'read_policy', input: { policy: 'refunds' } }] })
  .tool(anyToolResult) // the time-out, in the words of the framework
  .assistant({ text: 'The policy did not come in time. I ask once more.', toolCalls: [{ name: 'read_policy', input: { policy: 'refunds' } }] })
  .tool(policies['refunds'])
  .assistant({ text: 'Damaged goods are refunded in full. Was the order paid?', toolCalls: [{ name: 'get_charge', input: { order: 'A-1042' } }] })
  .tool(charges['A-1042'])
  .assistant({ text: 'It was, by card. I refund 89 EUR.', toolCalls: [{ name: 'refund', input: { order: 'A-1042', amount: 89 } }] })
  .tool(receiptOf('/payments/refunds', 1))
  .assistant({
    text: 'Refunded. I tell the customer and leave a note.',
    toolCalls: [
      { name: 'send_email', input: { to: 'ada@example.com', text: 'Dear Ada Park, we have refunded 89 EUR for your desk lamp.' } },
      { name: 'add_note', input: { ticket: ticket.id, text: 'Lamp arrived broken, 89 EUR refunded (rf_1).' } },
    ],
  })
  .tool(receiptOf('/mail/messages', 1))
  .tool(receiptOf('/tickets/notes', 1))
  .assistant({ text: 'That was all: I close the ticket.', toolCalls: [{ name: 'close_ticket', input: { ticket: ticket.id } }] })
  .tool(receiptOf('/tickets/closings', 1))
  .assistant('Ada Park got 89 EUR back for the broken lamp, has been told so, and the ticket is closed.')

/** Each of these happens once: the server keeps the counts when the agent's process is killed. */
export const faults: FaultPlan = [
  { turn: 3, fault: { kind: 'status', status: 429, headers: { 'retry-after': '1' } } },
  { turn: 4, fault: { kind: 'reset', after: 3 } },
  { turn: 7, fault: { kind: 'status', status: 529 } },
  // The right answers, at the pace of a model.
  ...[1, 2, 5, 6, 8].map((turn) => ({ turn, fault: { kind: 'delay', beforeMs: 60, betweenMs: 15 } }) as const),
]
