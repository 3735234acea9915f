/** What a fingerprint sees of a model request's configuration (R8): all that is not the conversation, part by part. */
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { hash } from '../core/hash.ts'
import { copyOf, isSame } from '../journal/copy.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import type { Secrets } from '../journal/secrets.ts'
import { leadingSystem } from './conversation.ts'
import { withoutCacheSettings } from './provider-options.ts'

export interface Configuration {
  readonly digest: string
  readonly parts: Readonly<Record<string, string>>
}

/** Hashes the configurations of a run: a part that is as it was the last time is not hashed again. */
export class Configurations {
  readonly #last = new Map<string, { readonly value: unknown; readonly print: string }>()
  readonly #secrets: Secrets | undefined

  constructor(secrets?: Secrets) {
    this.#secrets = secrets
  }

  /** null: it holds something that has no fingerprint. */
  read(model: LanguageModelV4, options: LanguageModelV4CallOptions): Configuration | null {
    const settings = settingsOf(options)
    const parts = this.#prints(partsOf(model, options, (text) => this.#secrets?.hide(text) ?? text))
    // One part of the digest, as ever: a run of an earlier build is under the same configuration.
    const all = this.#prints({ settings })
    const each = this.#prints(settings)
    if (!parts || !all || !each) return null
    const digested = { ...parts, ...all }
    return { digest: hash(...Object.keys(digested).sort().flatMap((name) => [name, digested[name]!])), parts: { ...parts, ...each } }
  }

  /** null: there is one that has no fingerprint. */
  #prints(values: Readonly<Record<string, unknown>>): Record<string, string> | null {
    const prints: Record<string, string> = {}
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) continue
      const print = this.#print(name, value)
      if (print === null) return null
      prints[name] = print
    }
    return prints
  }

  #print(name: string, value: unknown): string | null {
    const last = this.#last.get(name)
    if (last && isSame(last.value, value)) return last.print
    const print = fingerprint(value, this.#secrets)
    // A copy: whoever asks may change the object itself, and ask with it again.
    if (print !== null) this.#last.set(name, { value: copyOf(value), print })
    return print
  }
}

/** Each is a part of its own, so that the one which changed is named. */
function settingsOf({ maxOutputTokens, temperature, stopSequences, topP, topK, presencePenalty, frequencyPenalty, seed, reasoning }: LanguageModelV4CallOptions): Record<string, unknown> {
  return { maxOutputTokens, temperature, stopSequences, topP, topK, presencePenalty, frequencyPenalty, seed, reasoning }
}

/**
 * The other parts, by the names that a warning shows. Not among them: `abortSignal` and `headers` (they say how to ask, not
 * what), `includeRawChunks` (what else to show of the same answer).
 */
function partsOf(model: LanguageModelV4, options: LanguageModelV4CallOptions, hide: (name: string) => string): Record<string, unknown> {
  const { prompt, tools, toolChoice, responseFormat, providerOptions } = options
  const system = prompt.slice(0, leadingSystem(prompt))
  return {
    model: `${model.provider}/${model.modelId}`,
    system: system.length === 0 ? undefined : system.map((m) => ({ content: m.content, providerOptions: withoutCacheSettings(m.providerOptions) })),
    ...Object.fromEntries((tools ?? []).map((tool) => [
      `tool ${hide(tool.name)}`,
      tool.type === 'function' ? { ...tool, providerOptions: withoutCacheSettings(tool.providerOptions) } : tool,
    ])),
    toolChoice: tools?.length ? toolChoice : undefined,
    responseFormat: responseFormat?.type === 'text' ? undefined : responseFormat,
    providerOptions: withoutCacheSettings(providerOptions),
  }
}
