/** A few recorded conversations, killed a few times; and the judge of them, which must be able to say no. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import type { Entry } from '../src/index.ts'
import { conversation } from '../src/testing/index.ts'
import { endAll } from '../scripts/children.ts'
import { readOptions } from '../scripts/realworld/options.ts'
import { planRuns, Schedule } from '../scripts/realworld/plan.ts'
import type { WorldReport } from '../scripts/realworld/protocol.ts'
import { merged, recordingOf } from '../scripts/realworld/recording.ts'
import { realworld } from '../scripts/realworld/realworld.ts'
import { transcriptDifference } from '../scripts/realworld/transcript.ts'
import { effectViolations, journalFindings, reworkViolations } from '../scripts/realworld/verdict.ts'
import { UsageError } from '../scripts/usage.ts'
import { seededRandom } from '../src/core/random.ts'

const recordings = fileURLToPath(new URL('../../shared/trajectories/airline', import.meta.url))
const isThere = existsSync(recordings)

afterAll(endAll)

describe(isThere ? 'recorded conversations, over HTTP, killed and resumed' : `skipped: there are no recordings in ${recordings}`, () => {
  it.skipIf(!isThere).each([
    ['one in a run, generated, settled by reconcile', ['--seed', '3', '--only', 'airline-32-3', '--kills', '1']],
    ['two in branches of one run, settled by resolve', ['--seed', '3', '--only', 'airline-24-1', '--kills', '1', '--parallel']],
  ])('come out as recorded, each effect once: %s', { timeout: 180_000 }, async (_, args) => {
    const verdicts = await realworld(readOptions(args)!)
    expect(verdicts).toHaveLength(1)
    expect(verdicts[0]).toMatchObject({ violations: [], kills: { write: expect.any(Number), clock: expect.any(Number), world: expect.any(Number) } })
    expect(verdicts[0]!.kills.world).toBeGreaterThan(0)
    expect(verdicts[0]!.doubts).toBeGreaterThan(0)
    expect(verdicts[0]!.settled).toBe(verdicts[0]!.doubts)
  })
})

const recorded = conversation('r')
  .user('Book it, then look twice')
  .assistant({ toolCalls: [{ name: 'book_flight', input: { to: 'SEA' }, id: 'same' }] })
  .tool('booked')
  .assistant({ toolCalls: [{ name: 'get_flight', input: { id: 1 }, id: 'same' }] })
  .tool('one')
  .assistant({ toolCalls: [{ name: 'get_flight', input: { id: 2 }, id: 'other' }] })
  .tool('two')
  .assistant('Done.')

describe('a recording', () => {
  it('knows its calls by their place, also where call ids repeat', () => {
    expect(recordingOf(recorded)).toMatchObject({
      turns: ['Book it, then look twice'],
      answers: 4,
      calls: [
        { position: 0, answer: 0, callId: 'same', tool: 'book_flight', result: 'booked', changesState: true },
        { position: 1, answer: 1, callId: 'same', tool: 'get_flight', result: 'one', changesState: false },
        { position: 2, answer: 2, callId: 'other', tool: 'get_flight', result: 'two', changesState: false },
      ],
    })
  })

  it('has its neighbouring reads merged, and its effects where that is asked for', () => {
    const widths = (effects: boolean): number[] => merged(recorded, effects).messages.flatMap((m) => (m.role === 'assistant' ? [m.tool_calls?.length ?? 0] : []))
    expect(widths(false)).toEqual([1, 2, 0])
    // Its id is in use: the second cannot join the first.
    expect(widths(true)).toEqual([1, 2, 0])
    const distinct = conversation('d')
      .user('Go').assistant({ toolCalls: [{ name: 'book_flight' }] }).tool('a').assistant({ toolCalls: [{ name: 'get_flight' }] }).tool('b').assistant('Done.')
    expect(recordingOf(merged(distinct, false)).calls.map(({ answer }) => answer)).toEqual([0, 1])
    expect(recordingOf(merged(distinct, true)).calls.map(({ answer }) => answer)).toEqual([0, 0])
  })
})

describe('the plan', () => {
  const many = Array.from({ length: 8 }, (_, i) => ({ ...recorded, id: `r-${i}` }))
  const options = { seed: 5, kills: 6, parallel: false, effects: false, only: undefined, most: undefined }

  it('gives each conversation each loop and each way to settle in four seeds in a row, and the same for the same seed', () => {
    const ways = [5, 6, 7, 8].map((seed) => planRuns(many, { ...options, seed })[2]!).map(({ talks, settling }) => `${talks[0]!.streamed} ${settling}`)
    expect(new Set(ways).size).toBe(4)
    const [one, two] = [planRuns(many, options), planRuns(many, { ...options, only: 'r-2' })]
    expect(two).toHaveLength(1)
    expect(one[2]!.random()).toBe(two[0]!.random())
  })

  it('has two conversations in a run where it is parallel, and as many runs as asked for', () => {
    expect(planRuns(many, { ...options, parallel: true }).map(({ runId }) => runId)).toEqual(['r-0+r-1', 'r-2+r-3', 'r-4+r-5', 'r-6+r-7'])
    expect(planRuns(many, { ...options, most: 3 })).toHaveLength(3)
  })

  it('kills half by writes and half by the clock, and never three times without progress at the very beginning', () => {
    const schedule = new Schedule(6, 40, seededRandom(1))
    const kinds: string[] = []
    for (let kill = schedule.next(5); kill; kill = schedule.next(5)) {
      kinds.push(kill.by)
      if (kinds.length > 2 && kill.by === 'write') expect(kill.write).toBeGreaterThan(4)
      schedule.made()
    }
    expect(kinds.toSorted()).toEqual(['clock', 'clock', 'clock', 'write', 'write', 'write'])
  })
})

describe('the judge', () => {
  const recording = recordingOf(recorded)
  const once = { executions: 1, withoutKey: 0, effects: 1, keys: ['k'] }
  const read = { executions: 1, withoutKey: 1, effects: 0, keys: [] }
  const fine: WorldReport = { calls: [once, read, read], strays: [], asked: 0 }
  const asked = (turn: number): { turn: number; try: number; at: number; streamed: boolean; headers: Record<string, string>; body: unknown } =>
    ({ turn, try: 1, at: 0, streamed: false, headers: { 'x-conversation': 'r' }, body: {} })
  const requests = [1, 2, 3, 4].map(asked)

  it('has nothing to say about a run that is as it must be', () => {
    expect([...effectViolations(recording, fine), ...reworkViolations(recording, fine, requests, 0)]).toEqual([])
  })

  it.each<[string, WorldReport, string]>([
    ['an effect that never was', { ...fine, calls: [{ ...once, executions: 0, effects: 0, keys: [] }, read, read] }, 'LOST: r: call 0'],
    ['an effect that was twice', { ...fine, calls: [{ ...once, executions: 2, effects: 2 }, read, read] }, 'REPEATED: r: call 0'],
    ['a call without its key', { ...fine, calls: [{ ...once, withoutKey: 1, keys: [] }, read, read] }, 'without an idempotency key'],
    ['a second key', { ...fine, calls: [{ ...once, keys: ['k', 'l'] }, read, read] }, '2 idempotency keys'],
    ['a call that is not recorded', { ...fine, strays: ['book_flight'] }, 'not recorded'],
    ['a read that never was', { ...fine, calls: [once, { ...read, executions: 0 }, read] }, 'never carried out'],
  ])('finds %s', (_, report, text) => {
    expect(effectViolations(recording, report).join('\n')).toContain(text)
  })

  it('finds work that was done again though nothing was killed', () => {
    expect(reworkViolations(recording, fine, [...requests, asked(2)], 0)).toHaveLength(1)
    expect(reworkViolations(recording, fine, [...requests, asked(2)], 1)).toEqual([])
    expect(reworkViolations(recording, { ...fine, calls: [once, { ...read, executions: 2 }, read] }, requests, 0)).toHaveLength(1)
    expect(reworkViolations(recording, fine, requests.slice(1), 0)).toEqual(['r: answer 1 was never asked for'])
  })

  it('finds the message that is not the recorded one', () => {
    const call = (toolCallId: string, toolName: string, input: unknown): object => ({ role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input }] })
    const result = (toolCallId: string, value: string): object => ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'any', output: { type: 'text', value } }] })
    const run = (second: string): never => [
      { role: 'user', content: 'Book it, then look twice' },
      call('same', 'book_flight', { to: 'SEA' }), result('same', 'booked'), call('same', 'get_flight', { id: 1 }), result('same', second),
      call('other', 'get_flight', { id: 2 }), result('other', 'two'), { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ] as never
    expect(transcriptDifference(recorded, run('one'))).toBeUndefined()
    expect(transcriptDifference(recorded, run('booked'))).toContain('messages[4]')
  })

  it('finds a call that was started again without a decision, and a doubt that was never settled', () => {
    const step = { id: '0/same', kind: 'tool', name: 'book_flight', branch: '' }
    const entries = (...types: string[]): Entry[] => types.map((type) => ({ type, step: type === 'settled' ? step.id : step, outcome: { type: 'value' } })) as unknown as Entry[]
    const say = (...types: string[]): string => journalFindings('r', [], entries(...types)).violations.join('\n')
    expect(say('attempt-started', 'step-started', 'attempt-started', 'step-started', 'step-ended')).toContain('started again without a decision')
    expect(say('attempt-started', 'step-started', 'attempt-started', 'step-ended')).toContain('without having been settled')
    expect(say('attempt-started', 'step-started', 'attempt-started')).toContain('never ended')
    expect(say('attempt-started', 'step-started', 'attempt-started', 'settled', 'step-started', 'step-ended')).not.toMatch(/decision|settled|ended$/m)
    expect(journalFindings('r', [], entries('attempt-started', 'step-started', 'attempt-started', 'settled', 'step-started', 'step-ended'))).toMatchObject({ doubts: 1, settled: 1 })
  })
})

describe('the command line', () => {
  it.each([['--kills', 'many'], ['--seed', '1.5'], ['--what']])('refuses %s %s', (...args) => {
    expect(() => readOptions(args.filter(Boolean))).toThrow(UsageError)
  })
})
