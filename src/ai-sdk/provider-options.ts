/** Provider options without what only says how a prompt is cached: that never changes an answer (R8). */
import type { SharedV4ProviderOptions } from '@ai-sdk/provider'

/** Directly under a provider's name; nothing else is searched for them. */
const CACHE_SETTINGS: ReadonlySet<string> = new Set([
  'cacheControl', 'cache_control', // Anthropic
  'cachePoint', // Amazon Bedrock
  'promptCacheKey', 'promptCacheRetention', // OpenAI
])

export function withoutCacheSettings(options: SharedV4ProviderOptions | undefined): unknown {
  if (options === undefined) return undefined
  const kept = Object.entries(options).flatMap(([provider, settings]) => {
    const rest = Object.entries(settings).filter(([name]) => !CACHE_SETTINGS.has(name))
    // A provider for which nothing else was said is as one that was not mentioned.
    return rest.length === 0 && Object.keys(settings).length > 0 ? [] : [[provider, Object.fromEntries(rest)] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
