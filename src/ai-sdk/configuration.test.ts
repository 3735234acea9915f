import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { hash } from '../core/hash.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import { changedParts } from '../replay/reason.ts'
import { Configurations } from './configuration.ts'

const model = { provider: 'test', modelId: 'model' } as LanguageModelV4
const read = (settings: Partial<LanguageModelV4CallOptions>) => new Configurations().read(model, { prompt: [], ...settings })!

const SETTINGS = {
  maxOutputTokens: [100, 200], temperature: [0, 1], stopSequences: [['a'], ['b']], topP: [0.1, 0.2], topK: [1, 2], presencePenalty: [0, 1], frequencyPenalty: [0, 1], seed: [1, 2], reasoning: ['low', 'high'],
} as const

describe('a configuration', () => {
  it.each(Object.entries(SETTINGS))('names the setting that changed: %s', (name, [before, after]) => {
    const [one, other] = [read({ [name]: before }), read({ [name]: after })]
    expect(other.digest).not.toBe(one.digest)
    expect(changedParts(one.parts, other.parts)).toEqual([name])
    expect(changedParts(read({}).parts, other.parts)).toEqual([name])
    expect(changedParts(one.parts, read({}).parts)).toEqual([name])
  })

  it('names each of several, beside what else changed', () => {
    const before = read({ temperature: 0, seed: 1 })
    expect(changedParts(before.parts, read({ temperature: 1, seed: 2, providerOptions: { test: { effort: 'high' } } }).parts)).toEqual(['providerOptions', 'seed', 'temperature'])
  })

  it('has no fingerprint where a setting has none', () => {
    expect(new Configurations().read(model, { prompt: [], temperature: (() => 1) as unknown as number })).toBeNull()
  })
})

describe('of an earlier build, which recorded all settings as one', () => {
  const settings = { temperature: 0.5, seed: 7 }
  const earlier = { model: fingerprint('test/model')!, settings: fingerprint(settings)! }

  it('is the same where nothing changed', () => {
    const names = Object.keys(earlier).sort() as (keyof typeof earlier)[]
    expect(read(settings).digest).toBe(hash(...names.flatMap((name) => [name, earlier[name]])))
  })

  it('says `settings` where nothing else can have changed, else what else did', () => {
    expect(changedParts(earlier, read({ temperature: 1 }).parts)).toEqual(['settings'])
    expect(changedParts({ ...earlier, system: 'h1' }, { ...read(settings).parts, system: 'h2' })).toEqual(['system'])
  })
})
