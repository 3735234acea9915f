import { describe, expect, it } from 'vitest'
import type { RunEvent, StampedEvent } from '../run/events.ts'
import { testIo } from './fixtures/test-io.ts'
import { progress } from './progress.ts'

const stamped = (event: RunEvent): StampedEvent => ({ ...event, runId: 'r-1', at: Date.UTC(2026, 0, 1, 9, 8, 7, 6) })

describe('progress', () => {
  it('is one line an event, with its time', () => {
    const io = testIo()
    const tell = progress(io, { json: false })
    tell(stamped({ type: 'run-completed', result: 1 }))
    tell(stamped({ type: 'warning', code: 'NOT_RECORDED', message: 'two\nlines  \u001b[2J' }))
    expect(io.written.err).toBe('09:08:07.006  run-completed\n09:08:07.006  warning         NOT_RECORDED: two lines  \\u001b[2J\n')
  })

  it('for programs is the event itself', () => {
    const io = testIo()
    const event = stamped({ type: 'run-completed', result: { at: new Date(0) } })
    progress(io, { json: true })(event)
    expect(JSON.parse(io.written.err)).toEqual({ ...event, result: { at: '1970-01-01T00:00:00.000Z' } })
  })
})
