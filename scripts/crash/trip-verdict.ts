/** What must hold for a run that was killed at random times, whatever the times were. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { SuspendReason } from '../../src/index.ts'
import { ASKING, EFFECTS, WORK } from './trip.ts'
import type { Counts } from './world.ts'

export interface TripSeen {
  readonly kills: number
  readonly counts: Counts
  /** Model requests. */
  readonly requests: number
  /** What the run stopped for. */
  readonly reasons: readonly SuspendReason[]
  readonly result: unknown
}

/** `undisturbed`: the result of the same program that nobody killed. */
export function tripViolations({ kills, counts, requests, reasons, result }: TripSeen, undisturbed: unknown): string[] {
  const violations: string[] = []
  for (const [name, often] of Object.entries(EFFECTS)) {
    const keys = counts.effects[name] ?? []
    const times = `${name} was carried out ${keys.length} times, with ${new Set(keys).size} keys`
    if (keys.length === 0) violations.push(`LOST: ${times}`)
    if (new Set(keys).size > 1) violations.push(`REPEATED under another key: ${times}`)
    if (often === 'once' && keys.length > 1) violations.push(`REPEATED without a decision: ${times}`)
    if (keys.length > 1 + kills) violations.push(`REPEATED more often than the process died: ${times}`)
  }
  for (const name of Object.keys(counts.effects)) if (!(name in EFFECTS)) violations.push(`STRAY: nobody asks for ${name}`)
  for (const reason of reasons) {
    if (reason.type !== 'in-doubt') violations.push(`it stopped for something else than a doubt: ${reason.type}: ${reason.message}`)
    else if (!ASKING.has(reason.tool)) violations.push(`it asked about ${reason.step} (${reason.tool}), which needs nobody`)
  }
  // No kill loses more than what was open at once: all that was recorded is replayed.
  violations.push(...within('model requests', requests, WORK.requests, kills * WORK.requestsAtOnce))
  violations.push(...within('reads of the world', counts.reads, WORK.reads, kills * WORK.readsAtOnce))
  if (!isDeepStrictEqual(result, undisturbed)) violations.push(`its result is ${JSON.stringify(result)}, undisturbed it is ${JSON.stringify(undisturbed)}`)
  return violations
}

function within(what: string, number: number, least: number, more: number): string[] {
  return number < least || number > least + more ? [`${number} ${what}, there must be ${least} to ${least + more}`] : []
}
