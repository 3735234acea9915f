/** The providers' own SDKs: `openai` and `@anthropic-ai/sdk`. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Asking, Client } from './client.ts'

const settings = ({ url, timeoutMs }: Asking) =>
  ({ baseURL: url, apiKey: 'invented', maxRetries: 0, logLevel: 'off' as const, ...(timeoutMs !== undefined && { timeout: timeoutMs }) })
const options = ({ signal }: Asking) => ({ ...(signal && { signal }) })

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of stream) events.push(event)
  return events
}

const claude = { model: 'claude-haiku-4-5', max_tokens: 64 }
const messages = [{ role: 'user' as const, content: 'hi' }]

export const sdkClients: readonly Client[] = [
  {
    name: 'openai',
    dialect: 'chat',
    generate: async (asking) => new OpenAI(settings(asking)).chat.completions.create({ model: 'gpt-4.1-mini', messages }, options(asking)),
    stream: async (asking) => all(await new OpenAI(settings(asking)).chat.completions.create({ model: 'gpt-4.1-mini', messages, stream: true }, options(asking))),
  },
  {
    name: 'openai responses',
    dialect: 'responses',
    generate: async (asking) => new OpenAI(settings(asking)).responses.create({ model: 'gpt-5-nano', input: 'hi' }, options(asking)),
    stream: async (asking) => all(await new OpenAI(settings(asking)).responses.create({ model: 'gpt-5-nano', input: 'hi', stream: true }, options(asking))),
  },
  {
    name: '@anthropic-ai/sdk',
    dialect: 'anthropic',
    generate: async (asking) => new Anthropic(settings(asking)).messages.create({ ...claude, messages }, options(asking)),
    stream: async (asking) => all(await new Anthropic(settings(asking)).messages.create({ ...claude, messages, stream: true }, options(asking))),
  },
  {
    name: '@anthropic-ai/sdk stream()',
    dialect: 'anthropic',
    stream: async (asking) => new Anthropic(settings(asking)).messages.stream({ ...claude, messages }, options(asking)).finalMessage(),
  },
]
