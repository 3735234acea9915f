/** Which real model `--live` uses: the first whose key is in the environment. */
import type { ModelAccess } from './job.ts'

const PROVIDERS = [
  { name: 'openai', key: 'OPENAI_API_KEY', base: 'OPENAI_BASE_URL', url: 'https://api.openai.com/v1', id: 'gpt-4.1-mini' },
  { name: 'openrouter', key: 'OPENROUTER_API_KEY', base: 'OPENROUTER_BASE_URL', url: 'https://openrouter.ai/api/v1', id: 'openai/gpt-4.1-mini' },
  { name: 'mistral', key: 'MISTRAL_API_KEY', base: 'MISTRAL_BASE_URL', url: 'https://api.mistral.ai/v1', id: 'mistral-medium-latest' },
  { name: 'groq', key: 'GROQ_API_KEY', base: 'GROQ_BASE_URL', url: 'https://api.groq.com/openai/v1', id: 'openai/gpt-oss-120b' },
] as const

/** `HOLDFAST_DEMO_MODEL` chooses another model of the provider; `..._BASE_URL` another address. Undefined: no key is there. */
export function liveModel(env: Readonly<Record<string, string | undefined>>): ModelAccess | undefined {
  const found = PROVIDERS.find(({ key }) => env[key])
  if (!found) return undefined
  const { name, key, base, url, id } = found
  return { name, url: env[base] || url, id: env['HOLDFAST_DEMO_MODEL'] || id, keyFrom: key }
}

export const LIVE_KEYS: readonly string[] = PROVIDERS.map(({ key }) => key)
