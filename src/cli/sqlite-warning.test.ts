import { expect, it } from 'vitest'
import { silenceSqliteWarning } from './sqlite-warning.ts'

it('silences the warning about SQLite and no other', () => {
  const shown: unknown[][] = []
  const target = { emitWarning: ((...args: unknown[]) => void shown.push(args)) as NodeJS.Process['emitWarning'] }
  silenceSqliteWarning(target)
  target.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning')
  target.emitWarning('Type Stripping is an experimental feature and might change at any time', 'ExperimentalWarning')
  target.emitWarning(new Error('careful'))
  expect(shown).toEqual([['Type Stripping is an experimental feature and might change at any time', 'ExperimentalWarning'], [new Error('careful')]])
})
