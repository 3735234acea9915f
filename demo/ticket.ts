/** The case that the demo works on: what the services know, and what is expected of the agent. */

/** What the agent is asked. Its run id is made of it. */
export const ticket = Object.freeze({
  id: 'ticket-4711',
  text: 'Ticket 4711, customer C-77, order A-1042: "The lamp arrived broken. I would like my money back."',
})

export const orders: Readonly<Record<string, unknown>> = {
  'A-1042': { order: 'A-1042', customer: 'C-77', item: 'desk lamp', amount: 89, currency: 'EUR', status: 'delivered' },
}

export const customers: Readonly<Record<string, unknown>> = {
  'C-77': { customer: 'C-77', name: 'Ada Park', email: 'ada@example.com', since: 2019, refundsThisYear: 0 },
}

export const policies: Readonly<Record<string, unknown>> = {
  refunds: { policy: 'refunds', text: 'Goods that arrive damaged are refunded in full, once. Write to the customer and leave a note.' },
}

export const charges: Readonly<Record<string, unknown>> = {
  'A-1042': { order: 'A-1042', charge: 'ch_88', paidBy: 'card', amount: 89, refundable: 89 },
}

/** The effects that the world must see, each exactly once. `path`: where the world makes it. */
export const effects = [
  { name: 'refund', path: '/payments/refunds', what: 'refund of 89 EUR' },
  { name: 'send_email', path: '/mail/messages', what: 'e-mail to the customer' },
  { name: 'add_note', path: '/tickets/notes', what: 'note on the ticket' },
  { name: 'close_ticket', path: '/tickets/closings', what: 'ticket closed' },
] as const

export type EffectPath = (typeof effects)[number]['path']

/** What the world answers when it made the `n`-th effect of a kind. */
export const receiptOf = (path: EffectPath, n: number): Readonly<Record<string, unknown>> => {
  switch (path) {
    case '/payments/refunds':
      return { refund: `rf_${n}`, amount: 89, status: 'refunded' }
    case '/mail/messages':
      return { message: `msg_${n}`, status: 'sent' }
    case '/tickets/notes':
      return { note: `note_${n}` }
    case '/tickets/closings':
      return { ticket: ticket.id, status: 'closed', closings: n }
  }
}
