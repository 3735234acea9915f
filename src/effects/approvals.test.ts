import { describe, expect, it } from 'vitest'
import type { ApprovalDecision, Entry, StepRef } from '../journal/entry.ts'
import { Approvals, hasExpired } from './approvals.ts'

const step: StepRef = { id: '0/c:a', branch: '0', kind: 'tool', name: 'refund' }
const asked = (fingerprint = 'f'): Entry => ({ type: 'approval-asked', at: 1, step, fingerprint })
const decided = (decision: ApprovalDecision | { type: 'expired' }): Entry => ({ type: 'approval-decided', at: 2, step: step.id, decision })
const started: Entry = { type: 'step-started', at: 3, step, fingerprint: 'f', idempotencyKey: 'k' }

function approvals(...entries: Entry[]): Approvals {
  const made = new Approvals()
  entries.forEach((entry, i) => made.apply(entry, i + 1))
  return made
}

describe('a question', () => {
  it('is about the very call: not about one of other arguments, or of another tool, at its place', () => {
    const made = approvals(asked(), decided({ type: 'approved' }))
    expect(made.of(step, 'f')).toMatchObject({ seq: 1, decision: { type: 'approved' } })
    expect(made.of(step, 'other')).toBeUndefined()
    expect(made.of({ ...step, name: 'mail' }, 'f')).toBeUndefined()
  })

  it('that is asked anew has no answer: the one before was to another question', () => {
    const made = approvals(asked(), decided({ type: 'approved' }), asked('other'))
    expect(made.of(step, 'other')).toMatchObject({ seq: 3, decision: undefined })
    expect(made.open()).toMatchObject([{ seq: 3 }])
  })

  it('is open until it is answered, or its call made without an answer', () => {
    expect(approvals(asked()).open()).toHaveLength(1)
    expect(approvals(asked(), decided({ type: 'denied' })).open()).toEqual([])
    expect(approvals(asked(), started).open()).toEqual([])
    expect(approvals(asked(), started, asked('other')).open()).toHaveLength(1)
  })

  it('behind which entries were lost is not open: an answer may be among them. One that was answered before stays so', () => {
    const salvaged = (had: number): Entry => ({ type: 'salvaged', at: 4, fault: 'checksum', had, token: 1, copy: 'c' } as Entry)
    expect(approvals(asked(), salvaged(1)).open()).toHaveLength(1)
    expect(approvals(asked(), salvaged(2)).open()).toEqual([])
    expect(approvals(asked(), salvaged(2), asked()).open()).toMatchObject([{ seq: 3 }])
    expect(approvals(asked(), decided({ type: 'approved' }), salvaged(3)).of(step, 'f')).toMatchObject({ decision: { type: 'approved' } })
  })

  it.each<[ApprovalDecision | { type: 'expired' }, boolean]>([
    [{ type: 'approved' }, false], [{ type: 'denied', reason: 'no' }, true], [{ type: 'expired' }, true],
  ])('is denied by a no and by time that is over: %j', (decision, isDenied) => {
    expect(approvals(asked()).isDenied(step.id)).toBe(false)
    expect(approvals(asked(), decided(decision)).isDenied(step.id)).toBe(isDenied)
  })

  it('expires at its time, and never where it has none', () => {
    const [question] = approvals({ ...asked(), expiresAt: 9 } as Entry).open()
    expect([8, 9, 10].map((now) => hasExpired(question!, now))).toEqual([false, true, true])
    expect(hasExpired(approvals(asked()).open()[0]!, Number.MAX_SAFE_INTEGER)).toBe(false)
  })
})
