import { expect, it } from 'vitest'
import type { StepRecord } from '../../replay/history.ts'
import { ref } from '../fixtures/journal.ts'
import { ReplayCount } from './replays.ts'

const records = (...texts: readonly string[]): StepRecord[] => texts.map((text) => ({ ref: ref(text) }) as StepRecord)
const summary = (replayed: object): { replayed: object; recorded: object; unrecorded: [] } => ({ replayed, recorded: {}, unrecorded: [] })

it('knows each step where an attempt replayed all or none of a kind', () => {
  const count = new ReplayCount()
  count.attemptStarted(records('model 0 m', 'model 1 m', 'tool 0/c:a t'))
  count.attemptEnded(summary({ model: 2 }))
  expect(['0', '1', '0/c:a', '9'].map((id) => count.of(id))).toEqual([{ least: 1, most: 1 }, { least: 1, most: 1 }, { least: 0, most: 0 }, { least: 0, most: 0 }])
})

it('leaves open which were replayed where some of a kind were', () => {
  const count = new ReplayCount()
  count.attemptStarted(records('model 0 m', 'model 1 m'))
  count.attemptEnded(summary({ model: 1 }))
  expect(count.of('0')).toEqual({ least: 0, most: 1 })
})

it('leaves open what a killed attempt and one that runs have replayed', () => {
  const count = new ReplayCount()
  count.attemptStarted([])
  count.attemptStarted(records('model 0 m'))
  expect(count.of('0')).toEqual({ least: 0, most: 1 })
  count.attemptStarted(records('model 0 m'))
  expect(count.of('0')).toEqual({ least: 0, most: 2 })
  count.attemptEnded(summary({ model: 1 }))
  expect(count.of('0')).toEqual({ least: 1, most: 2 })
})
