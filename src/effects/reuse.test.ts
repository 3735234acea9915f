import { describe, expect, it } from 'vitest'
import type { StepKind } from '../journal/entry.ts'
import { Scene, unknown, value } from './fixtures/scene.ts'
import { SILENT, type Effect } from './effect.ts'
import { reusable } from './reuse.ts'

/** What was asked for at each id; each gave its id, but for those whose outcome nobody knows. */
function made(kind: StepKind, asked: Readonly<Record<string, string>>, doubtful: readonly string[] = []): Effect[] {
  const scene = new Scene()
  for (const [id, args] of Object.entries(asked)) scene.started(id, args).ended(id, doubtful.includes(id) ? unknown : value(id))
  return [...scene.ledger.effects.values()].map((effect) => ({ ...effect, step: { ...effect.step, kind } }))
}

describe.each(['tool', 'step'] as const)('a call by a %s', (kind) => {
  it.each<[string, Record<string, string>, string, string | undefined]>([
    ['of its turn, of the same arguments', { '0': 'A', '1': 'A' }, '0~1', '0'],
    ['the only one of the same arguments, also at another turn', { '0': 'B', '1': 'A' }, '0~1', '1'],
    ['none of several of the same arguments at other turns', { '0': 'A', '1': 'A' }, '2', undefined],
    ['none of several of other arguments, also at its turn', { '0': 'B', '1': 'C' }, '0~1', undefined],
  ])('is given %s', (_, asked, step, of) => {
    expect(reusable(made(kind, asked), { step, fingerprint: 'A' })?.step.id).toBe(of)
  })

  it('is given nothing of other arguments while one of the same is in doubt', () => {
    expect(reusable(made(kind, { '0': 'B', '1': 'A' }, ['1']), { step: '0~1', fingerprint: 'A' })).toBeUndefined()
  })
})

it('a call by a tool is given what the only one of other arguments gave: the model may have worded it otherwise', () => {
  expect(reusable(made('tool', { '0': 'B' }), { step: '0~1', fingerprint: 'A' })?.step.id).toBe('0')
  expect(reusable(made('tool', { '0': 'B', '1': 'C' }, ['1']), { step: '0~1', fingerprint: 'A' })).toBeUndefined()
})

it.each([['A', SILENT], [SILENT, 'A']])('a step is given nothing of another input, unless one of the two says nothing of what it asks: %s after %s', (fingerprint, before) => {
  expect(reusable(made('step', { '0': 'B' }), { step: '0~1', fingerprint: 'A' })).toBeUndefined()
  expect(reusable(made('step', { '0': before }), { step: '0~1', fingerprint })?.step.id).toBe('0')
})
