import { expect, it } from 'vitest'
import { judgeCuts, written } from './cut.ts'

it('a log that ends anywhere gives the last commit that is whole (F2); all bytes: npm run fuzz -- --every-byte', async () => {
  const run = await written()
  expect(run.commits.map(({ entries }) => entries)).toEqual([0, 1, 2, 3, 4, 5])
  expect(new Set(run.commits.map(({ end }) => end)).size).toBe(6)
  const ends = new Set<number>()
  for (const { end } of run.commits) for (let at = end - 2; at <= end + 2; at++) ends.add(at)
  for (let at = 0; at < run.log.length; at += 1_511) ends.add(at)
  const near = [...ends].filter((end) => end >= 0 && end <= run.log.length)
  expect(await judgeCuts(run, near)).toBeGreaterThan(60)
})

it('the judge notices a commit that is lost', async () => {
  const run = await written()
  await expect(judgeCuts({ ...run, commits: run.commits.with(-1, { end: run.log.length - 9, entries: 5 }) }, [run.log.length - 5])).rejects.toThrow('4 entries, not 5')
})
