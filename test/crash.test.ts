/** A few real processes, really killed; and the judges of the crash trials, which must be able to say no. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endAll } from '../scripts/children.ts'
import { expectedOf } from '../scripts/crash/expected.ts'
import { onGrounds } from '../scripts/crash/grounds.ts'
import { readOptions } from '../scripts/crash/options.ts'
import { tryPayment, type PaymentVerdict } from '../scripts/crash/payment-trial.ts'
import { POINTS, stateAt } from '../scripts/crash/points.ts'
import { POLICY_NAMES, policyOf } from '../scripts/crash/policies.ts'
import { EFFECTS, WORK } from '../scripts/crash/trip.ts'
import { tripViolations, type TripSeen } from '../scripts/crash/trip-verdict.ts'
import { UsageError } from '../scripts/usage.ts'

afterAll(endAll)

describe('real processes, ended with SIGKILL', () => {
  const verdicts: Record<string, PaymentVerdict> = {}

  beforeAll(async () => {
    await onGrounds({ seed: 1, lanes: 1, modelMs: 1 }, async ([lane]) => {
      verdicts['a person'] = await tryPayment('after-effect', 'refuse-result', lane!)
      verdicts['the world'] = await tryPayment('in-tool', 'reconcile', lane!)
      verdicts['twice'] = await tryPayment('while-replaying-in-doubt', 'idempotent', lane!)
      const wrong: typeof expectedOf = (point, policy) => ({ ...expectedOf(point, policy), requests: 4 })
      verdicts['expected wrongly'] = await tryPayment('after-result', 'rerun', lane!, wrong)
      verdicts['losing records'] = await tryPayment('before-result', 'refuse-result', { ...lane!, job: { ...lane!.job, drop: 'step-started' } })
    })
  }, 180_000)

  it('wait for a person who settles the doubt about an effect', () => {
    const { seen, violations } = verdicts['a person']!
    expect(violations).toEqual([])
    expect(seen).toMatchObject({ kills: 1, executions: 1, questions: [{ type: 'in-doubt', step: '1/c:pay', effects: ['1/c:pay'] }], told: ['by hand'] })
  })

  it('go on by themselves where the world can be asked, and where the tool is idempotent, also after two deaths', () => {
    expect(verdicts['the world']).toMatchObject({ violations: [], seen: { kills: 1, executions: 1, lookups: 1, questions: [] } })
    expect(verdicts['twice']).toMatchObject({ violations: [], seen: { kills: 2, executions: 2, keys: 1, questions: [] } })
  })

  it('are found out over a store that loses the record written ahead: the effect is made twice and nobody was asked', () => {
    const { violations } = verdicts['losing records']!
    expect(violations).toContain('executions: 2, it must be 1')
    expect(violations).toContainEqual(expect.stringMatching(/^questions: \[\], it must be \[.*in-doubt/))
  })

  it('are found out by an expectation that is not what happens', () => {
    expect(verdicts['expected wrongly']!.violations).toEqual(['requests: 3, it must be 4'])
  })
})

describe('what must hold at a point', () => {
  const all = POLICY_NAMES.flatMap((name) => POINTS.map((point) => ({ name, point, policy: policyOf(name) })))

  it('never has a step with effects carried out twice without a decision, by a person or by its policy', () => {
    // Of the two orders of `effect-key`, one is paid twice because the model asks for it twice.
    const twice = all.filter(({ name, point, policy }) => name !== 'effect-key' && policy.writesAhead && expectedOf(point, policy).executions > 1)
    expect([...new Set(twice.map(({ policy }) => policy.doubt))]).toEqual(['rerun'])
    for (const { point } of twice) expect(stateAt(point)).toMatchObject({ effect: true, recorded: false })
  })

  it('never loses the effect, unless somebody said to skip it or gave its result', () => {
    const lost = all.filter(({ point, policy }) => expectedOf(point, policy).executions === 0)
    expect([...new Set(lost.map(({ policy }) => policy.doubt))].toSorted()).toEqual(['result', 'skip'])
    for (const { point } of lost) expect(stateAt(point)).toMatchObject({ started: true, effect: false })
  })

  it('has no question and no second call where the result is recorded, but for a run that is driven again', () => {
    for (const { name, point, policy } of all) {
      if (!stateAt(point).recorded || name === 'effect-key') continue
      expect(expectedOf(point, policy)).toMatchObject({ executions: 1, questions: policy.redo ? [{ type: 'repeat' }] : [] })
    }
  })
})

describe('the judge of random kills', () => {
  const effects = Object.fromEntries(Object.keys(EFFECTS).map((name) => [name, [`key of ${name}`]]))
  const good: TripSeen = { kills: 2, counts: { effects, reads: WORK.reads, lookups: 0 }, requests: WORK.requests, reasons: [], result: 'r' }
  const withEffect = (name: string, keys: string[]): TripSeen => ({ ...good, counts: { ...good.counts, effects: { ...effects, [name]: keys } } })
  const doubtAbout = (tool: string): TripSeen => ({ ...good, reasons: [{ type: 'in-doubt', step: 's', tool, message: '', fingerprint: '', effects: ['s'] }] })

  it.each<[string, TripSeen]>([
    ['nothing was disturbed', good],
    ['an idempotent tool ran again with its key', withEffect('reserve eu', ['k', 'k'])],
    ['a tool that may be repeated was', withEffect('log us', ['k', 'k'])],
    ['a person was asked about a tool that refuses', doubtAbout('notify')],
    ['the requests that were open at the kills were sent again', { ...good, requests: WORK.requests + 4 }],
  ])('accepts that %s', (_, seen) => expect(tripViolations(seen, 'r')).toEqual([]))

  it.each<[string, RegExp, TripSeen]>([
    ['an effect twice', /REPEATED without a decision: pay eu/, withEffect('pay eu', ['k', 'k'])],
    ['one key too many', /REPEATED under another key: reserve us/, withEffect('reserve us', ['k', 'l'])],
    ['more repetitions than deaths', /more often than the process died: log eu/, withEffect('log eu', ['k', 'k', 'k', 'k'])],
    ['a lost effect', /LOST: publish/, withEffect('publish', [])],
    ['an effect that nobody asks for', /STRAY: nobody asks for pay mars/, withEffect('pay mars', ['k'])],
    ['a question about a tool that reconciles', /asked about s \(pay\)/, doubtAbout('pay')],
    ['another reason to stop', /something else than a doubt: draining/, { ...good, reasons: [{ type: 'draining', message: '' }] }],
    ['requests that were recorded and sent again', /13 model requests, there must be 8 to 12/, { ...good, requests: 13 }],
    ['another result', /its result is "other"/, { ...good, result: 'other' }],
  ])('finds %s', (_, message, seen) => expect(tripViolations(seen, 'r')).toEqual([expect.stringMatching(message)]))
})

describe('the command line', () => {
  it('runs everything by default, and only the named points where one is named', () => {
    expect(readOptions(['--seed', '7'])).toMatchObject({ seed: 7, kills: 500, named: true })
    expect(readOptions(['--quick'])).toMatchObject({ kills: 40, named: true })
    expect(readOptions(['--point', 'in-tool', '--policy', 'skip'])).toMatchObject({ kills: 0, point: 'in-tool', policies: ['skip'] })
    expect(readOptions(['--seed', '7', '--kill', '41'])).toMatchObject({ kill: 41, named: false })
  })

  it.each([[['--point', 'nowhere']], [['--policy', 'hope']], [['--kills', 'many']], [['--kill', '3']], [['--frist']], [['--drop', 'tables']]])('refuses %j', (args) => {
    expect(() => readOptions(args)).toThrow(UsageError)
  })
})
