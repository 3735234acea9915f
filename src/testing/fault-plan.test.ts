import { describe, expect, it } from 'vitest'
import { faultFor, parseFaultPlan, randomFaults } from './fault-plan.ts'
import type { Fault } from './faults.ts'

const reset: Fault = { kind: 'reset' }
const hang: Fault = { kind: 'hang' }

describe('the fault of a try', () => {
  it('is the one that was planned for its conversation, turn and try', () => {
    const plan = [{ conversation: 'a', turn: 2, fault: reset }, { turn: 2, try: 2, fault: hang }]
    expect(faultFor(plan, { conversation: 'a', turn: 2, try: 1 })).toBe(reset)
    expect(faultFor(plan, { conversation: 'b', turn: 2, try: 1 })).toBeUndefined()
    expect(faultFor(plan, { conversation: 'a', turn: 2, try: 2 })).toBe(hang)
    expect(faultFor(plan, { conversation: 'a', turn: 1, try: 1 })).toBeUndefined()
  })

  it('comes at every try when it is to stay', () => {
    const plan = [{ turn: 1, try: 'every', fault: reset }] as const
    expect([1, 2, 50].map((n) => faultFor(plan, { conversation: 'a', turn: 1, try: n }))).toEqual([reset, reset, reset])
  })
})

describe('random faults', () => {
  const tries = (seed: number, rate = 0.5): (Fault | undefined)[] => {
    const plan = [randomFaults({ seed, rate })]
    return Array.from({ length: 200 }, (_, turn) => faultFor(plan, { conversation: 'a', turn: turn + 1, try: 1 }))
  }

  it('are the same for the same seed, and others for another', () => {
    expect(tries(1)).toEqual(tries(1))
    expect(tries(1)).not.toEqual(tries(2))
  })

  it('come at about the rate', () => {
    expect(tries(3, 0)).toEqual(tries(3, 0).map(() => undefined))
    expect(tries(3, 1)).not.toContain(undefined)
    const share = tries(3, 0.3).filter(Boolean).length / 200
    expect(share).toBeGreaterThan(0.2)
    expect(share).toBeLessThan(0.4)
  })

  it('leave the later tries alone', () => {
    const plan = [randomFaults({ rate: 1, tries: 2 })]
    expect([1, 2, 3].map((n) => Boolean(faultFor(plan, { conversation: 'a', turn: 1, try: n })))).toEqual([true, true, false])
  })

  it('are of the kinds that were asked for', () => {
    const plan = [randomFaults({ rate: 1, kinds: ['cut', reset] })]
    const kinds = Array.from({ length: 50 }, (_, turn) => faultFor(plan, { conversation: 'a', turn: turn + 1, try: 1 })?.kind)
    expect(new Set(kinds)).toEqual(new Set(['cut', 'reset']))
  })
})

describe('a fault plan is checked', () => {
  const wrong: [string, unknown, string][] = [
    ['no array', {}, 'faults must be an array, got {}'],
    ['no turn', [{ fault: reset }], 'faults[0].turn must be an integer >= 1, got undefined'],
    ['a turn of 0', [{ turn: 0, fault: reset }], 'faults[0].turn must be an integer >= 1, got 0'],
    ['a wrong try', [{ turn: 1, try: 'each', fault: reset }], 'faults[0].try must be an integer >= 1, got "each"'],
    ['an unknown key', [{ turn: 1, fault: reset, attempt: 2 }], 'faults[0].attempt is not known'],
    ['an unknown kind', [{ turn: 1, fault: { kind: 'fire' } }], 'faults[0].fault.kind must be status, delay'],
    ['an option of another kind', [{ turn: 1, fault: { kind: 'status', status: 500, after: 1 } }], 'faults[0].fault.after is not known'],
    ['no status', [{ turn: 1, fault: { kind: 'status' } }], 'faults[0].fault.status must be an integer >= 200, got undefined'],
    ['a wrong point', [{ turn: 1, fault: { kind: 'cut', after: 'end' } }], 'faults[0].fault.after must be an integer >= 0'],
    ['a header that is no text', [{ turn: 1, fault: { kind: 'status', status: 429, headers: { 'retry-after': 1 } } }], 'faults[0].fault.headers.retry-after must be a string'],
    ['two faults for one try', [{ turn: 1, fault: reset }, { turn: 1, try: 1, fault: hang }], 'faults[1] has the try of faults[0]'],
    ['a rate of 2', [{ seed: 1, rate: 2, of: [reset], tries: 1 }], 'faults[0].rate must be a number from 0 to 1, got 2'],
  ]
  it.each(wrong)('%s', (_name, plan, message) => {
    expect(() => parseFaultPlan(plan)).toThrow(message)
  })

  it('so are the options of random faults', () => {
    expect(() => randomFaults({ kinds: ['fire' as 'cut'] })).toThrow('randomFaults.kinds[0] must be status')
    expect(() => randomFaults({ seed: 0.5 })).toThrow('randomFaults.seed must be an integer, got 0.5')
  })
})
