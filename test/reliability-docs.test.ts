/** docs/reliability.md names each option of the policies with its default, and what is retried. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BackoffPolicy, ModelPolicy, RetryPolicy, TimeoutPolicy, ToolPolicy } from '../src/index.ts'
import { CATEGORIES, DEFAULT_BACKOFF, DEFAULT_RETRY, isTransient, resolveToolPolicy } from '../src/reliability/index.ts'

const page = readFileSync(new URL('../docs/reliability.md', import.meta.url), 'utf8')

/** Rows of three cells that begin with an option. */
const rows = new Map([...page.matchAll(/^\| `([\w.]+)` \| (.*?) ?\| (.*?) ?\|$/gm)].map(([, option, fallback, text]) => [option!, { fallback: fallback!, text: text! }]))

/** What stands in the page as default, by option; the compiler holds that none is left out. */
const RETRY: { readonly [KEY in keyof RetryPolicy]-?: string } = {
  maxAttempts: String(DEFAULT_RETRY.maxAttempts), backoff: '', categories: 'all', inlineWaitMs: String(DEFAULT_RETRY.inlineWaitMs), onLongWait: DEFAULT_RETRY.onLongWait,
  classify: '`classifyError`', shouldRetry: '', onRetry: '',
}
const TIMEOUTS: { readonly [KEY in keyof TimeoutPolicy]-?: string } = { modelMs: 'none', modelFirstPartMs: 'none', modelIdleMs: 'none', toolMs: 'none', toolIdleMs: 'none', runMs: 'none' }
const TOOL: { readonly [KEY in keyof ToolPolicy]-?: string } = {
  idempotent: 'false', readOnly: 'false', composite: 'false', timeoutMs: '`timeouts.toolMs`', idleTimeoutMs: '`timeouts.toolIdleMs`', retry: 'as the run', onIncompleteTool: 'as the run: refuse',
  reconcile: '', afterError: 'as the run', effectKey: 'the tool', allowRepeat: 'false', settleAfterMs: '`timeoutMs`, else 60000', approval: 'false',
}

const withPath = (path: string, keys: Readonly<Record<string, string>>): [string, string][] => Object.entries(keys).map(([key, fallback]) => [`${path}${key}`, fallback])

describe('docs/reliability.md', () => {
  it.each([...withPath('retry.', RETRY), ...withPath('timeouts.', TIMEOUTS), ...withPath('', TOOL)])('has a row for %s, with its default', (option, fallback) => {
    expect(rows.get(option)?.fallback).toBe(fallback)
  })

  it('has the defaults that are', () => {
    const { text } = rows.get('retry.backoff')!
    for (const [key, value] of Object.entries(DEFAULT_BACKOFF satisfies BackoffPolicy)) expect(text).toContain(`\`${key}\` ${String(value)}`)
    const { idempotent, readOnly, composite, allowRepeat } = resolveToolPolicy()
    expect([idempotent, readOnly, composite, allowRepeat].map(String)).toEqual(['idempotent', 'readOnly', 'composite', 'allowRepeat'].map((option) => rows.get(option)!.fallback))
  })

  it('names what durable() takes', () => {
    const keys: { readonly [KEY in keyof ModelPolicy]-?: true } = { retry: true, timeoutMs: true, firstPartTimeoutMs: true, idleTimeoutMs: true }
    const said = /^`durable\(model, options\)` takes (.*)\.$/m.exec(page)?.[1] ?? ''
    expect([...said.matchAll(/`(\w+)`/g)].map(([, key]) => key).toSorted()).toEqual(Object.keys(keys).toSorted())
  })

  it('says what is retried, and what is not', () => {
    const [, retried = '', others = ''] = /^`retry: false` is one try\. What `classifyError` takes for (.*) is retried; (.*) are not\.$/m.exec(page) ?? []
    const named = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, category]) => category!).toSorted()
    expect(named(retried)).toEqual(CATEGORIES.filter(isTransient).toSorted())
    expect(named(others)).toEqual(CATEGORIES.filter((category) => !isTransient(category)).toSorted())
  })
})
