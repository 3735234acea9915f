/** The provider packages of the AI SDK, asked as a durable model asks them: what it throws is what a run classifies. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { asBroken } from '../../../src/ai-sdk/broken.ts'
import { PassedOn, readStream } from '../../../src/ai-sdk/stream.ts'
import type { Asking, Client, Dialect } from './client.ts'

const apiKey = 'invented'

/** The model of each package behind a base URL. */
export const MODELS = {
  '@ai-sdk/openai': (url: string) => createOpenAI({ baseURL: url, apiKey }).responses('gpt-5-nano'),
  '@ai-sdk/openai chat': (url: string) => createOpenAI({ baseURL: url, apiKey }).chat('gpt-4.1-mini'),
  '@ai-sdk/anthropic': (url: string) => createAnthropic({ baseURL: url, apiKey })('claude-haiku-4-5'),
  '@ai-sdk/google': (url: string) => createGoogle({ baseURL: url, apiKey })('gemini-2.5-flash'),
  '@ai-sdk/openai-compatible': (url: string) => createOpenAICompatible({ name: 'compatible', baseURL: url, apiKey })('model'),
} satisfies Readonly<Record<string, (url: string) => LanguageModelV4>>

const DIALECTS: Readonly<Record<keyof typeof MODELS, Dialect>> = {
  '@ai-sdk/openai': 'responses',
  '@ai-sdk/openai chat': 'chat',
  '@ai-sdk/anthropic': 'anthropic',
  '@ai-sdk/google': 'google',
  '@ai-sdk/openai-compatible': 'chat',
}

const callOf = ({ signal, timeoutMs }: Asking): LanguageModelV4CallOptions => {
  // These packages know no time limit: whoever wants one gives a signal.
  const abortSignal = signal ?? (timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs))
  return { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], ...(abortSignal && { abortSignal }) }
}

export const aiSdkClients: readonly Client[] = Object.entries(MODELS).map(([name, model]) => ({
  name,
  dialect: DIALECTS[name as keyof typeof MODELS],
  generate: async (asking) => {
    try {
      return await model(asking.url).doGenerate(callOf(asking))
    } catch (error) {
      throw asBroken(error)
    }
  },
  stream: async (asking) => {
    const live = await model(asking.url).doStream(callOf(asking))
    return readStream(live, new PassedOn(), { id: 'r', timestamp: new Date(0), modelId: 'm' }, asking.signal ?? new AbortController().signal, () => {})
  },
}))
