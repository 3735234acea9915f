/** A short run of `npm run fuzz`, and all that it has ever found. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { defineAgent } from '../../src/index.ts'
import { casesOf, judge, type Case } from './case.ts'
import { desk, LEFT } from './desk.ts'
import { judgeDriven } from './drive.ts'
import { judgeFile } from './file.ts'
import { judgeRows } from './judge.ts'
import { JOURNALS } from './journals.ts'
import { Violation } from './violation.ts'

const corpus = new URL('./corpus/', import.meta.url)
const KEPT = readdirSync(corpus).filter((name) => name.endsWith('.json')).map((name): [string, Case] => [name, JSON.parse(readFileSync(new URL(name, corpus), 'utf8')) as Case])

describe('what is read back, whatever was done to it', () => {
  it('is one of the errors with its place, or what was written; a run that is driven on it has an outcome: 2,000 damaged journals, forged entries, messages and values', async () => {
    for (let k = 0; k < 2_000; k++) for (const each of casesOf(1, k)) {
      await judge(each).catch((error: unknown) => expect.fail(`case ${k} of seed 1: ${String(error)}\n${JSON.stringify(each).slice(0, 2_000)}`))
    }
  })

  it('is so too of the bytes of a file: 25 of them', async () => {
    for (let k = 0; k < 25; k++) await judgeFile(1, k)
  })

  it.each(KEPT)('is so of what was found once: %s', async (_, each) => {
    await judge(each)
  })
})

describe('the judge', () => {
  const [first, second] = JOURNALS as [(typeof JOURNALS)[number], (typeof JOURNALS)[number]]

  it('notices entries that nobody wrote', async () => {
    const other = first.journal.with(3, { ...first.journal[3]!, body: first.journal[4]!.body })
    await expect(judgeRows({ ...first, journal: other }, first.journal)).rejects.toThrow(new Violation('it gives entries that nobody wrote'))
  })

  it('notices that a loss is not noticed', async () => {
    await expect(judgeRows({ ...first, row: { ...first.row, lastSeq: 1 } }, first.journal.slice(0, -1))).rejects.toThrow(Violation)
  })

  it('notices that what was written is refused', async () => {
    await expect(judgeRows({ ...second, row: { ...second.row, runId: 'other' } }, second.journal)).rejects.toThrow('what was written is refused')
  })

  describe('of a run that is driven', () => {
    const killed = LEFT[0]!.bodies.slice(0, 5)
    const forgery = { what: 'nothing', bodies: killed, inbox: [], attempts: 1, released: false }

    it('notices an effect of which the journal knows, made again', async () => {
      expect(killed.at(-1)).toContain('"type":"step-started","step":{"id":"0/c:c2"')
      await expect(judgeDriven(forgery)).resolves.toBe('suspended')
      const { idempotencyKey: key } = JSON.parse(killed.at(-1)!) as { idempotencyKey: string }
      await expect(judgeDriven(forgery, { ...desk(), made: [{ name: 'charge', key }] })).rejects.toThrow('charge is made again, under the key that the journal has')
      await expect(judgeDriven(forgery, { ...desk(), made: [{ name: 'charge', key: 'another' }] })).rejects.toThrow('charge is made although the journal has it')
    })

    it('notices that it does not come to an end', async () => {
      await expect(judgeDriven(forgery, { ...desk(), agent: defineAgent('desk', () => new Promise(() => {})) })).rejects.toThrow('run: it does not come to an end')
    })
  })
})
