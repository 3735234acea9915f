/** Programs that are killed at random places, or everywhere: the property behind R1-R10, judged from outside (`npm run torture` runs many more). */
import { describe, expect, it } from 'vitest'
import { generate, seedOf } from './generate.ts'
import { judge, judgeEverywhere } from './judge.ts'
import type { Program } from './program.ts'
import { shrink } from './shrink.ts'
import { ASLEEP, PAUSED, SMALL } from './small.ts'
import type { Violation } from './violation.ts'

const SERIES = [1, 2, 3]
const PER_SERIES = 70
const LIMIT_MS = 120_000

function refuse({ kind, message }: Violation, program: Program, again: string): never {
  expect.fail(`${kind}: ${message}\n${JSON.stringify(program)}\n${again}`)
}

async function check(series: number): Promise<void> {
  for (let k = 0; k < PER_SERIES; k++) {
    const program = generate(seedOf(series, k))
    const { violations: [first] } = await judge(program)
    if (first) refuse(first, await shrink(program, first.kind, 200), `again: npm run torture -- --seed ${series} --program ${k}`)
  }
}

describe('random programs', () => {
  for (const series of SERIES) {
    it(`of series ${series} come to the result of an undisturbed execution, with no effect twice and nothing recorded run again`, () => check(series), LIMIT_MS)
  }

  // A series of one's own: HOLDFAST_PROGRAMS=12345 npm test. Long runs of changing series are `npm run torture`.
  it('of a series that is chosen from outside do so too', async () => {
    const series = Number(process.env['HOLDFAST_PROGRAMS'] ?? 77)
    console.log(`random programs: series ${series}`)
    await check(series)
  }, LIMIT_MS)
})

async function everywhere(program: Program, how: 'kill' | 'pause' | 'nap'): Promise<void> {
  const { program: disturbed, execution: { violations: [first] } } = await judgeEverywhere(program, how, 200, () => {})
  if (first) refuse(first, disturbed, '')
}

describe('killed at every crossing of a seam in turn', () => {
  for (const [name, program] of Object.entries(SMALL)) it(name, () => everywhere(program, 'kill'), LIMIT_MS)
})

describe('paused at every crossing of a seam in turn, until another has taken over', () => {
  for (const [name, program] of Object.entries(PAUSED)) it(name, () => everywhere(program, 'pause'), LIMIT_MS)
})

describe('asleep at every crossing of a seam in turn, for longer than its time limits', () => {
  for (const [name, program] of Object.entries(ASLEEP)) it(name, () => everywhere(program, 'nap'), LIMIT_MS)
})
