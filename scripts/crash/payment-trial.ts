/** One case of the named points: a process is killed at the point, others drive the run to its end, and what the world saw is judged. */
import { isDeepStrictEqual } from 'node:util'
import { HoldfastError, type DecisionInput, type SuspendReason } from '../../src/index.ts'
import { isEffectReason } from '../../src/journal/suspend-reason.ts'
import { BY_HAND, expectedOf, type Expected, type Question } from './expected.ts'
import type { Grounds } from './grounds.ts'
import { killsAgain, momentOf, type Point } from './points.ts'
import { policyOf, type Policy, type PolicyName } from './policies.ts'
import type { Job, Stop } from './protocol.ts'

/** What was seen of a case. */
export interface Seen extends Expected {
  /** Processes that ended by SIGKILL. */
  readonly kills: number
}

export interface PaymentVerdict {
  readonly point: Point
  readonly policy: PolicyName
  readonly seen: Seen
  readonly violations: readonly string[]
}

/** A case that asks more often than this goes on asking. */
const MOST_QUESTIONS = 3

export async function tryPayment(point: Point, name: PolicyName, grounds: Grounds, expect: typeof expectedOf = expectedOf): Promise<PaymentVerdict> {
  const policy = policyOf(name)
  const { driver, runner, world } = grounds
  const runId = `${name}.${point}`
  const base: Job = { ...grounds.job, runId, program: name }
  const violations: string[] = []
  const noticed: string[] = []
  const questions: Question[] = []
  let kills = 0
  let told = ''

  const drive = async (job: Job): Promise<{ readonly killed: boolean; readonly reasons: readonly SuspendReason[] } | undefined> => {
    const end = await driver.drive(job)
    noticed.push(...end.noticed)
    if (end.type === 'killed') {
      kills++
      return { killed: true, reasons: [] }
    }
    if (end.type === 'failed') violations.push(`it failed: ${end.error}`)
    else if (end.status === 'completed') told = String(end.result)
    else if (end.status === 'suspended') return { killed: false, reasons: end.reasons }
    else violations.push(`it came to "${end.status}"`)
    return undefined
  }

  const killed = async (stop: Stop): Promise<boolean> => (await drive({ ...base, stop }))?.killed === true
  const first = await killed({ at: momentOf(point) })
  const again = first && killsAgain(point) ? await killed({ replayed: policy.before - 1 }) : first
  if (again !== first) violations.push('the second process came to its end before it had replayed what was recorded')

  if (again) {
    let end = await drive({ ...base, ...(policy.redo && { redo: '0' }) })
    while (end && !end.killed && questions.length < MOST_QUESTIONS) {
      for (const reason of end.reasons) {
        questions.push(questionOf(reason))
        violations.push(...await answer(reason, policy, (step, decision) => runner.resolve(runId, step, decision)))
      }
      end = await drive(base)
    }
    if (end) violations.push(`it has not ended: ${end.reasons.map(({ message }) => message).join('; ')}`)
  }

  const { effects, reads, lookups } = world.countsOf(runId)
  const keys = effects['pay order-1'] ?? []
  const requests = grounds.requests(runId)
  const seen: Seen = {
    reached: first,
    kills,
    executions: policy.program === 'hosted' ? requests.filter(({ turn }) => turn === 2).length : keys.length,
    keys: new Set(keys).size,
    questions,
    lookups,
    requests: requests.length,
    reads,
    told: told.replace(/^told: /, '').split(' | '),
  }
  const expected = expect(point, policy)
  violations.push(...differences(expected, seen))
  if (seen.kills !== (expected.reached ? (killsAgain(point) ? 2 : 1) : 0)) violations.push(`${seen.kills} processes were killed`)
  const others = Object.entries(effects).flatMap(([effect, { length }]) => (effect === 'pay order-1' ? [] : [`${effect} x ${length}`])).join(', ')
  if (others !== (policy.program === 'effect-key' ? 'pay order-2 x 1' : '')) violations.push(`beside it the world carried out: ${others || 'nothing'}`)
  const isExpected = (what: string): boolean => expected.lookups > 0 && policy.tool?.reconcile === 'fails' && what.includes('"RECONCILE_FAILED"')
  for (const what of noticed) if (!isExpected(what)) violations.push(what)
  return { point, policy: name, seen, violations }
}

function differences(expected: Expected, seen: Seen): string[] {
  return (Object.keys(expected) as (keyof Expected)[]).flatMap((field) =>
    isDeepStrictEqual(expected[field], seen[field]) ? [] : [`${field}: ${JSON.stringify(seen[field])}, it must be ${JSON.stringify(expected[field])}`])
}

const questionOf = (reason: SuspendReason): Question =>
  isEffectReason(reason)
    ? { type: reason.type, step: reason.step, effects: reason.effects }
    : { type: 'in-doubt', step: `${reason.type}: ${reason.message}`, effects: [] }

type Resolve = (step: string, decision: DecisionInput) => Promise<unknown>

/** A person decides. What has no result cannot be used again: that is tried first where the step is in doubt, and must be refused. */
async function answer(reason: SuspendReason, policy: Policy, resolve: Resolve): Promise<string[]> {
  if (!isEffectReason(reason)) return []
  if (reason.type === 'repeat') {
    await resolve(reason.step, 'reuse')
    return []
  }
  const isRefused = await resolve(reason.step, 'reuse').then(() => false, (error: unknown) => HoldfastError.isInstance(error) && error.code === 'NOTHING_TO_RESOLVE')
  if (!isRefused) return ['a doubt was resolved with "reuse", of which there is nothing']
  // Skipped by its policy, what is asked about is the call that would come in the place of the one in doubt.
  const isLater = !reason.effects.includes(reason.step) && !policy.redo
  const decision = isLater || policy.doubt === 'rerun' ? 'rerun' : policy.doubt === 'skip' ? 'skip' : { result: BY_HAND }
  await resolve(reason.step, decision)
  return []
}
