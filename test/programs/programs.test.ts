/** Random programs, killed at random places: the property behind R1-R10, judged from outside (`npm run torture` runs many more). */
import { describe, expect, it } from 'vitest'
import { generate, seedOf } from './generate.ts'
import { judge } from './judge.ts'
import { shrink } from './shrink.ts'

const SERIES = [1, 2, 3]
const PER_SERIES = 60

async function check(series: number, k: number): Promise<void> {
  const program = generate(seedOf(series, k))
  const { violations: [first] } = await judge(program)
  if (!first) return
  const small = await shrink(program, first.kind, 200)
  expect.fail(`${first.kind}: ${first.message}\n${JSON.stringify(small)}\nagain: npm run torture -- --seed ${series} --program ${k}`)
}

describe('random programs', () => {
  for (const series of SERIES) {
    it(`of series ${series} come to the result of an undisturbed execution, with no effect twice and nothing recorded run again`, async () => {
      for (let k = 0; k < PER_SERIES; k++) await check(series, k)
    }, 60_000)
  }

  it('of a series that differs each time do so too', async () => {
    const series = Date.now() % 1_000_000
    console.log(`random programs: seed ${series}`)
    for (let k = 0; k < PER_SERIES; k++) await check(series, k)
  }, 60_000)
})
