import { describe, expect, it } from 'vitest'
import type { StepRecord } from './history.ts'
import { Order } from './order.ts'

const record = (id: string, seq: number, branch = ''): StepRecord => ({
  ref: { id, branch, kind: 'step', name: id },
  fingerprint: '',
  after: undefined,
  config: undefined,
  accepted: new Set(),
  prompt: undefined,
  asked: [], failedBy: [],
  low: 0,
  to: 1,
  seq, end: { seq, outcome: { type: 'value', value: { json: null } } },
})

const claimed = (order: Order<{ seq: number }>, id: string, seq: number): void => {
  order.settle(id)
  order.ready({ seq })
}

describe('R4: the order of delivery', () => {
  it('hands out the oldest record first, whatever the order in which they are asked for', () => {
    const order = new Order<{ seq: number }>([record('a', 1), record('b', 2), record('c', 3)])
    for (const [id, seq] of [['c', 3], ['a', 1], ['b', 2]] as const) claimed(order, id, seq)
    expect([order.next(), order.next(), order.next(), order.next()]).toEqual([
      { type: 'deliver', item: { seq: 1 } },
      { type: 'deliver', item: { seq: 2 } },
      { type: 'deliver', item: { seq: 3 } },
      { type: 'nothing' },
    ])
  })

  it('holds a younger one back while an older one may still be asked for', () => {
    const order = new Order<{ seq: number }>([record('a', 1), record('b', 2)])
    claimed(order, 'b', 2)
    expect(order.next()).toEqual({ type: 'hold', for: 'a' })
    claimed(order, 'a', 1)
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 1 } })
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 2 } })
  })

  it('does not wait for what is superseded', () => {
    const order = new Order<{ seq: number }>([record('a', 1), record('b', 2)])
    order.settle('a')
    claimed(order, 'b', 2)
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 2 } })
    expect(order.left).toBe(0)
  })

  it('never waits for ever: after giving up, nothing older holds it back', () => {
    const order = new Order<{ seq: number }>([record('a', 1, 'b:x#0'), record('b', 2, 'b:y#0'), record('c', 3)])
    claimed(order, 'c', 3)
    expect(order.next().type).toBe('hold')
    order.giveUp()
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 3 } })
    expect(order.left).toBe(2)
  })

  it('waits again for a branch in which something is asked for again', () => {
    const order = new Order<{ seq: number }>([record('a', 1, 'x'), record('b', 2, 'x'), record('c', 3), record('d', 4)])
    claimed(order, 'c', 3)
    order.giveUp()
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 3 } })
    order.revive('x')
    claimed(order, 'a', 1)
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 1 } })
    claimed(order, 'd', 4)
    expect(order.next()).toEqual({ type: 'hold', for: 'b' })
  })

  it('C33: waits in vain for a record once, not again at every later step of its branch', () => {
    const order = new Order<{ seq: number }>([record('gone', 1), record('a', 2), record('b', 3), record('c', 4)])
    claimed(order, 'a', 2)
    expect(order.next()).toEqual({ type: 'hold', for: 'gone' })
    order.giveUp()
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 2 } })
    order.revive('')
    claimed(order, 'b', 3)
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 3 } })
  })

  it('hands out a live result when no older record is left', () => {
    const order = new Order<{ seq: number }>([record('a', 1)])
    order.ready({ seq: 7 })
    expect(order.next()).toEqual({ type: 'hold', for: 'a' })
    claimed(order, 'a', 1)
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 1 } })
    expect(order.next()).toEqual({ type: 'deliver', item: { seq: 7 } })
  })
})
