/** What examples speak of without saying where it comes from: things of the reader's own program. */

/** Ambient names and packages for every example. */
export const AMBIENT = `
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ToolLoopAgent } from 'ai'
import type { Agent, Run, Runner, Store } from 'holdfast'

declare global {
  const model: LanguageModelV4
  const openai: (id: string) => LanguageModelV4
  const tools: { search: typeof search; refund: typeof refund }
  const search: import('ai').Tool<{ query: string }, string>
  const refund: import('ai').Tool<{ order: string }, { refunded: number }>
  const desk: ToolLoopAgent
  const support: Agent<{ question: string }, string>
  const runner: Runner
  const run: Run
  const question: string
  const order: { readonly id: string; readonly cents: number }
  const regions: readonly string[]
  const review: (region: string) => Promise<string>
  const audit: (order: object) => Promise<void>
  const payments: {
    charge(order: object): Promise<{ receipt: string }>
    refund(order: string, options: { idempotencyKey: string }): Promise<{ refunded: number }>
    find(idempotencyKey: string): Promise<{ refunded: number } | undefined>
  }
  const findRefund: (idempotencyKey: string) => Promise<{ status: 'completed'; output: { refunded: number } } | { status: 'not-done' }>
  class LedgerClosed extends Error {}
  class CardDeclined extends Error {}
  const mcpClient: { tools(): Promise<Record<string, import('ai').Tool>> }
  const agent: Agent<{ question: string }, string>
  const input: { question: string }
  const runId: string
  const text: string
  const threadId: string
  const isLarge: (order: string) => boolean
  const loadChat: (threadId: string) => Promise<import('ai').ModelMessage[]>
  const clients: Map<string, import('ai').UIMessageStreamWriter>
  const conversations: readonly import('holdfast/testing').Conversation[]
  const myStore: (database: object) => Store
  const freshDatabase: () => Promise<object>
  const test: (name: string, fn: () => Promise<void>) => void
}
`

/** Packages that examples import and this project does not install. */
export const PACKAGES = `
declare module '@ai-sdk/openai' {
  export const openai: (id: string) => import('@ai-sdk/provider').LanguageModelV4
}
`

/** A file that examples import: an agent. */
export const SUPPORT = `
import { defineAgent } from 'holdfast'
export const support = defineAgent('support', async (_run, input: { question: string }) => input.question)
`

/** What a fragment may use of other packages without importing it. */
export const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  ai: ['createUIMessageStream', 'createUIMessageStreamResponse', 'generateText', 'streamText', 'tool', 'ToolLoopAgent'],
  zod: ['z'],
  '@ai-sdk/openai-compatible': ['createOpenAICompatible'],
}
