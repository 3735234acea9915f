import { expect, it } from 'vitest'
import { resolveCommand, resumeCommand, showCommand } from './hint.ts'

it.each([
  ['0/c:call_7', "holdfast resolve t-1 0/c:call_7 --skip"],
  ['s:charge:17#0', 'holdfast resolve t-1 s:charge:17#0 --skip'],
  ['3~1', 'holdfast resolve t-1 3~1 --skip'],
  ["0/c:it's(1)", `holdfast resolve t-1 '0/c:it'\\''s(1)' --skip`],
  ['0/c:a*b!', `holdfast resolve t-1 '0/c:a*b!' --skip`],
])('a command for step %s can be typed as it is', (step, command) => {
  expect(resolveCommand('t-1', step, 'skip', {})).toBe(command)
})

it('a command repeats where the run is', () => {
  expect(resolveCommand('t-1', '0', 'result', { store: 'my runs.db' })).toBe(`holdfast resolve t-1 0 --result '{"your":"JSON"}' --store 'my runs.db'`)
  expect(showCommand('t-1', { store: 'runs.db' })).toBe('holdfast show t-1 --store runs.db')
  expect(resumeCommand('t-1', { module: './agents.ts' })).toBe('holdfast resume t-1 --module ./agents.ts')
  expect(resumeCommand('t-1', { store: 'runs.db' })).toBe('holdfast resume t-1')
  expect(resumeCommand('t-1', {}, 'stalled')).toBe('holdfast resume t-1 --force')
})
