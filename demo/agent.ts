/** The agent: works on a support ticket. An ordinary `ToolLoopAgent`; what is durable about it are two words and the tools' policies. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isStepCount, tool, ToolLoopAgent } from 'ai'
import { z } from 'zod'
import { currentStep, defineAgent, durable, durableTools, type Agent, type ToolPolicy } from '../src/index.ts'
import type { Services } from './services.ts'
import type { EffectPath } from './ticket.ts'

const instructions = `You are the support desk of a shop. Work on the ticket with your tools, in this order, and do nothing twice:
1. get_order and get_customer, in one response. 2. read_policy "refunds"; when it times out, ask once more. 3. get_charge.
4. refund the order. 5. send_email to the customer and add_note to the ticket, in one response. 6. close_ticket.
Say in one short sentence what you are about to do each time. At the end say in one sentence what was done.`

/** What the agent shows while it works. */
export interface Show {
  /** The handler begins: at the start, on resume, and when it is driven again. */
  handlerCalled(): void
  /** A piece of the text of model request number `request`, counted from 1 since the handler began. */
  text(request: number, delta: string): void
  asks(request: number, toolName: string): void
}

export interface Wiring {
  readonly model: LanguageModelV4
  readonly services: Services
  readonly show: Show
  /** Calls in doubt are left to a person, instead of asking the service. */
  readonly refuse: boolean
}

export function supportAgent({ model, services, show, refuse }: Wiring): Agent<{ ticket: string }, string> {
  const desk = new ToolLoopAgent({
    model: durable(model),
    instructions,
    tools: durableTools(toolsOf(services), policiesOf(services, refuse)),
    stopWhen: isStepCount(16),
  })
  return defineAgent('support', async (_run, input: { ticket: string }) => {
    show.handlerCalled()
    const answer = await desk.stream({ prompt: input.ticket })
    let request = 0
    for await (const part of answer.stream) {
      if (part.type === 'start-step') request++
      else if (part.type === 'text-delta') show.text(request, part.text)
      else if (part.type === 'tool-call') show.asks(request, part.toolName)
    }
    return answer.text
  })
}

function toolsOf(services: Services) {
  const look = (path: string, signal: AbortSignal | undefined): Promise<unknown> => services.look(path, currentStep()?.step ?? '', signal!)
  const act = (path: EffectPath, body: unknown): Promise<unknown> => {
    const { idempotencyKey, signal } = currentStep()!
    return services.act(path, body, idempotencyKey, signal)
  }
  return {
    get_order: tool({
      description: 'Looks an order up',
      inputSchema: z.object({ order: z.string() }),
      execute: ({ order }, { abortSignal }) => look(`/orders/${order}`, abortSignal),
    }),
    get_customer: tool({
      description: 'Looks a customer up',
      inputSchema: z.object({ customer: z.string() }),
      execute: ({ customer }, { abortSignal }) => look(`/customers/${customer}`, abortSignal),
    }),
    read_policy: tool({
      description: 'Reads a policy of the shop',
      inputSchema: z.object({ policy: z.string() }),
      execute: ({ policy }, { abortSignal }) => look(`/policies/${policy}`, abortSignal),
    }),
    get_charge: tool({
      description: 'Looks up how an order was paid',
      inputSchema: z.object({ order: z.string() }),
      execute: ({ order }, { abortSignal }) => look(`/payments/charges/${order}`, abortSignal),
    }),
    refund: tool({
      description: 'Pays the money for an order back',
      inputSchema: z.object({ order: z.string(), amount: z.number() }),
      execute: (input) => act('/payments/refunds', input),
    }),
    send_email: tool({
      description: 'Sends an e-mail',
      inputSchema: z.object({ to: z.string(), text: z.string() }),
      execute: (input) => act('/mail/messages', input),
    }),
    add_note: tool({
      description: 'Adds a note to a ticket',
      inputSchema: z.object({ ticket: z.string(), text: z.string() }),
      execute: (input) => act('/tickets/notes', input),
    }),
    close_ticket: tool({
      description: 'Closes a ticket',
      inputSchema: z.object({ ticket: z.string() }),
      execute: (input) => act('/tickets/closings', input),
    }),
  }
}

/** What Holdfast should know about the tools. The ones that say nothing of it have effects: they are called at most once. */
function policiesOf(services: Services, refuse: boolean) {
  // Whoever comes after a crash asks the service whether the call took effect, by the key that it was made with.
  const settledBy = (path: EffectPath): ToolPolicy<unknown, unknown> => refuse ? {} : {
    settleAfterMs: 2_000,
    async reconcile({ idempotencyKey }) {
      const receipt = await services.find(path, idempotencyKey)
      return receipt === null ? { status: 'not-done' } : { status: 'completed', output: receipt }
    },
  }
  return {
    get_order: { readOnly: true },
    get_customer: { readOnly: true },
    // One try: the model itself is told about the time-out and decides.
    read_policy: { readOnly: true, timeoutMs: 1_000, retry: false },
    get_charge: { readOnly: true },
    refund: settledBy('/payments/refunds'),
    send_email: settledBy('/mail/messages'),
    add_note: settledBy('/tickets/notes'),
    close_ticket: settledBy('/tickets/closings'),
  } as const
}
