import { describe, expect, it } from 'vitest'
import { withoutCacheSettings } from './provider-options.ts'

describe('provider options, as far as they count (R8)', () => {
  // They say how a prompt is cached, and never change an answer; tools and frameworks set them anew at each step.
  it.each([
    ['anthropic', 'cacheControl', { type: 'ephemeral' }],
    ['anthropic', 'cache_control', { type: 'ephemeral' }],
    ['bedrock', 'cachePoint', { type: 'default' }],
    ['openai', 'promptCacheKey', 'thread-7'],
    ['openai', 'promptCacheRetention', '24h'],
  ])('%s.%s does not', (provider, name, value) => {
    expect(withoutCacheSettings({ [provider]: { [name]: value, effort: 'high' } })).toEqual({ [provider]: { effort: 'high' } })
    expect(withoutCacheSettings({ [provider]: { [name]: value } })).toBeUndefined()
  })

  it('everything else does: signatures, item ids, a provider without settings', () => {
    const options = { anthropic: { signature: 's' }, openai: { itemId: 'i' }, other: {} }
    expect(withoutCacheSettings(options)).toEqual(options)
    expect(withoutCacheSettings(undefined)).toBeUndefined()
  })

  it('values of the user are not searched for such names', () => {
    const options = { other: { schema: { cacheControl: 'a column' } } }
    expect(withoutCacheSettings(options)).toEqual(options)
  })
})
