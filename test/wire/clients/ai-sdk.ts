/** The provider packages of the AI SDK, asked as a durable model asks them. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import { asBroken } from '../../../src/ai-sdk/broken.ts'
import { refuseNoAnswer } from '../../../src/ai-sdk/no-answer.ts'
import type { RecordedResponse } from '../../../src/ai-sdk/recording.ts'
import { PassedOn, readStream } from '../../../src/ai-sdk/stream.ts'
import type { Asking, Client, Dialect } from './client.ts'

type Fetch = typeof globalThis.fetch

const settings = (baseURL: string, fetch?: Fetch) => ({ baseURL, apiKey: 'invented', ...(fetch && { fetch }) })

/** The model of each package behind a base URL. `fetch`: instead of Node's own. */
export const MODELS = {
  '@ai-sdk/openai': (url: string, fetch?: Fetch) => createOpenAI(settings(url, fetch)).responses('gpt-5-nano'),
  '@ai-sdk/openai chat': (url: string, fetch?: Fetch) => createOpenAI(settings(url, fetch)).chat('gpt-4.1-mini'),
  '@ai-sdk/anthropic': (url: string, fetch?: Fetch) => createAnthropic(settings(url, fetch))('claude-haiku-4-5'),
  '@ai-sdk/google': (url: string, fetch?: Fetch) => createGoogle(settings(url, fetch))('gemini-2.5-flash'),
  '@ai-sdk/openai-compatible': (url: string, fetch?: Fetch) => createOpenAICompatible({ name: 'compatible', ...settings(url, fetch) })('model'),
} satisfies Readonly<Record<string, (url: string, fetch?: Fetch) => LanguageModelV4>>

export const DIALECTS: Readonly<Record<keyof typeof MODELS, Dialect>> = {
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

/** As a durable model asks: what is thrown is what a run classifies. */
export async function generate(model: LanguageModelV4, asking: Asking): Promise<LanguageModelV4GenerateResult> {
  try {
    const result = await model.doGenerate(callOf(asking))
    refuseNoAnswer(result)
    return result
  } catch (error) {
    throw asBroken(error)
  }
}

export async function stream(model: LanguageModelV4, asking: Asking): Promise<RecordedResponse> {
  const live = await Promise.resolve(model.doStream(callOf(asking))).catch((error: unknown) => {
    throw asBroken(error)
  })
  return readStream(live, new PassedOn(), { id: 'r', timestamp: new Date(0), modelId: 'm' }, { signal: asking.signal ?? new AbortController().signal, progress() {}, begin() {} })
}

export const aiSdkClients: readonly Client[] = Object.entries(MODELS).map(([name, model]) => ({
  name,
  dialect: DIALECTS[name as keyof typeof MODELS],
  generate: async (asking) => generate(model(asking.url), asking),
  stream: async (asking) => stream(model(asking.url), asking),
}))
