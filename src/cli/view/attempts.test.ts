import { expect, it } from 'vitest'
import type { NewEntry } from '../../journal/writer.ts'
import { attemptEnded, CREATED, journal, started } from '../fixtures/journal.ts'
import { AttemptLog } from './attempts.ts'

const endings = (isDriven: boolean, ...entries: readonly NewEntry[]): string[] => {
  const log = new AttemptLog()
  for (const { entry } of journal(CREATED, ...entries)) log.apply(entry)
  return log.views(isDriven).map(({ ending }) => ending)
}

const suspended: NewEntry = { type: 'suspended', reasons: [], resumeAt: null }

it.each<[string, boolean, NewEntry[], string[]]>([
  ['none yet', false, [], []],
  ['one that runs', true, [started(1)], ['running']],
  ['one that nobody drives', false, [started(1)], ['killed']],
  ['one that died before another', true, [started(1), started(2, 'dead')], ['killed', 'running']],
  ['one whose lease ran out', true, [started(1), started(2, 'expired')], ['lost', 'running']],
  ['suspended, then completed', false, [started(1), suspended, attemptEnded(1), started(2, 'released'), { type: 'run-ended', status: 'completed' }, attemptEnded(2)], ['suspended', 'completed']],
  ['failed', false, [started(1), { type: 'run-ended', status: 'failed' }, attemptEnded(1)], ['failed']],
])('attempts: %s', (_what, isDriven, entries, expected) => {
  expect(endings(isDriven, ...entries)).toEqual(expected)
})
