/** How tools and the watching process talk to the world. */
import type { EffectState } from '../settle.ts'
import type { WorldCall, WorldReport } from './protocol.ts'
import type { WorldPlan } from './world.ts'

async function ask<T>(url: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${url}${path}`, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`the world answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

export const planConversation = (url: string, plan: WorldPlan): Promise<null> => ask(url, '/plan', plan)

/** @throws Error when the recording has no such call. */
export async function carryOut(url: string, call: WorldCall): Promise<string> {
  const answer = await ask<{ readonly result: string } | { readonly error: string }>(url, '/call', call)
  if ('error' in answer) throw new Error(answer.error)
  return answer.result
}

/** Asks about an effect by its key; `pid` 0 is never caught in a trap. */
export const effectOf = (url: string, key: string, conversation = '', pid = 0): Promise<EffectState> =>
  ask(url, `/effect?key=${encodeURIComponent(key)}&pid=${pid}&conversation=${encodeURIComponent(conversation)}`)

export const reportOf = (url: string, conversation: string): Promise<WorldReport> =>
  ask(url, `/report?conversation=${encodeURIComponent(conversation)}`)
