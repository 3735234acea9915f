import { expect, it } from 'vitest'
import type { RunStatus } from '../../journal/store.ts'
import type { NewEntry } from '../../journal/writer.ts'
import { attemptEnded, CREATED, journal, rowOf, started } from '../fixtures/journal.ts'
import { statusOf } from './run-status.ts'

const end = (status: 'completed' | 'failed' | 'cancelled'): NewEntry[] => [started(1), { type: 'run-ended', status }, attemptEnded(1)]
const SALVAGED: NewEntry = { type: 'salvaged', fault: 'checksum', had: 9, inbox: 0, token: 1, copy: 'c' }
const suspended: NewEntry[] = [started(1), { type: 'suspended', reasons: [], resumeAt: null }, attemptEnded(1)]

it.each<[string, RunStatus, NewEntry[], RunStatus]>([
  ['that was just created', 'running', [], 'running'],
  ['that ended, and whose row says so', 'completed', end('completed'), 'completed'],
  ['that ended, and whose row does not say so yet', 'running', end('completed'), 'completed'],
  ['that failed, and whose row says that it completed', 'completed', end('failed'), 'failed'],
  ['that failed and is about to be driven again', 'running', end('failed'), 'running'],
  ['that failed too often', 'stalled', end('failed'), 'stalled'],
  ['that completed, and whose row says that it failed', 'failed', end('completed'), 'completed'],
  ['that waits, and whose row says that it was cancelled', 'cancelled', suspended, 'suspended'],
  ['that was killed, and whose row says that it completed', 'completed', [started(1)], 'running'],
  ['that was killed, and whose row says that it waits', 'suspended', [started(1)], 'running'],
  ['that waits', 'suspended', suspended, 'suspended'],
  ['that was cut', 'suspended', [started(1), SALVAGED], 'suspended'],
  ['that was cut behind its end', 'completed', [...end('completed'), SALVAGED], 'completed'],
  ['that was cut behind its failure', 'failed', [...end('failed'), SALVAGED], 'failed'],
  ['that was cut, and whose row says that it completed', 'completed', [started(1), SALVAGED], 'suspended'],
])('a run %s: %s', (_, row, entries, status) => {
  const placed = journal(CREATED, ...entries)
  expect(statusOf(rowOf(placed, row), placed)).toBe(status)
})
