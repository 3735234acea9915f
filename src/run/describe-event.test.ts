import { describe, expect, it } from 'vitest'
import { describeEvent, detailOf } from './describe-event.ts'
import type { RunEvent } from './events.ts'

const step = { step: '0/c:a', kind: 'tool', name: 'refund' } as const

const EVENTS: readonly (readonly [RunEvent, string])[] = [
  [{ type: 'run-started', attempt: 1 }, 'attempt 1'],
  [{ type: 'run-resumed', attempt: 2, former: 'dead' }, 'attempt 2: the process of the attempt before it died'],
  [{ type: 'step-started', ...step }, 'tool refund  0/c:a'],
  [{ type: 'step-replayed', ...step }, 'tool refund  0/c:a'],
  [{ type: 'step-finished', ...step, ok: true, tries: 1, ms: 12 }, 'tool refund  0/c:a  ok  12ms'],
  [{ type: 'step-finished', ...step, ok: false, tries: 3, ms: 1500 }, 'tool refund  0/c:a  not ok  3 tries  1.5s'],
  [{ type: 'step-finished', ...step, ok: true, tries: 0, ms: 0 }, 'tool refund  0/c:a  answered without running'],
  [{ type: 'retry-wait', ...step, try: 1, delayMs: 2000, category: 'rate_limit', message: 'slow down' }, 'tool refund  0/c:a  try 1 failed (rate_limit: slow down), again in 2.0s'],
  [{ type: 'step-reset', ...step, tries: 1, delayMs: 10, category: 'network', message: 'socket closed' }, 'tool refund  0/c:a  what was shown of it is void, it is driven again: socket closed'],
  [{ type: 'step-timeout', ...step, try: 1, limit: 'total', timeoutMs: 200 }, 'tool refund  0/c:a  cut after 200ms, and may still be running'],
  [{ type: 'step-timeout', ...step, try: 2, limit: 'first-part', timeoutMs: 200 }, 'tool refund  0/c:a  try 2  nothing of an answer in 200ms, and may still be running'],
  [{ type: 'step-timeout', ...step, try: 1, limit: 'idle', timeoutMs: 200 }, 'tool refund  0/c:a  no progress in 200ms, and may still be running'],
  [{ type: 'step-in-doubt', ...step, cause: 'timeout' }, 'tool refund  0/c:a  timeout'],
  [{ type: 'doubt-settled', ...step, by: 'reconcile', as: 'completed' }, 'tool refund  0/c:a  completed, by reconcile'],
  [{ type: 'step-waiting', ...step, reason: { type: 'draining', message: 'm' } }, 'tool refund  0/c:a  draining'],
  [{ type: 'replay-diverged', step: '3', reason: 'message 2 differs', superseded: 4 }, '3  message 2 differs  4 superseded'],
  [{ type: 'config-changed', step: '3', changed: ['system', 'model'] }, '3  system, model'],
  [{ type: 'limit-reached', limit: 'maxSteps', used: 5, max: 4, step: '3' }, 'maxSteps 4, used 5  3'],
  [{ type: 'warning', code: 'NOT_RECORDED', message: 'm' }, 'NOT_RECORDED: m'],
  [{ type: 'attempt-ended', attempt: 1, summary: { replayed: { model: 2 }, recorded: { tool: 1 }, unrecorded: [] } }, 'attempt 1: replayed 2 steps (2 model, 0 tool, 0 other), recorded 1 new'],
  [{ type: 'run-suspended', reasons: [{ type: 'retry-after', step: '3', message: 'm', until: 0, tries: 1 }, { type: 'draining', message: 'm' }], resumeAt: 0 }, 'retry-after 3, draining  until 1970-01-01 00:00:00Z'],
  [{ type: 'run-completed', result: 1 }, ''],
  [{ type: 'run-failed', error: new TypeError('no') }, 'TypeError: no'],
  [{ type: 'run-cancelled', reason: 'stop' }, 'stop'],
]

describe('an event in words', () => {
  it.each(EVENTS.map(([event, text]) => [event.type, event, text] as const))('says what %s means', (_type, event, text) => {
    expect(detailOf(event)).toBe(text)
  })

  it.each(EVENTS.map(([event, text]) => [event.type, event, text] as const))('of %s is one line for a log, with its run (C21)', (_type, event, text) => {
    expect(describeEvent({ ...event, runId: 'r-1', at: 0 })).toBe(`r-1  ${event.type}${text === '' ? '' : `  ${text}`}`)
  })

  it('is one line whatever is in it', () => {
    expect(describeEvent({ type: 'run-failed', error: new Error('two\nlines\u001b[2J'), runId: 'r-1', at: 0 })).toBe('r-1  run-failed  Error: two lines\\u001b[2J')
  })
})
