/** What `npm run mutants` takes for caught, and what not. The mutants themselves are run by it. */
import { describe, expect, it } from 'vitest'
import { catalog } from '../scripts/mutants/catalog/index.ts'
import { inLanes } from '../scripts/mutants/lanes.ts'
import { mutate, type Mutant } from '../scripts/mutants/mutant.ts'
import { chosen, readOptions } from '../scripts/mutants/options.ts'
import { notApplicable } from '../scripts/mutants/run.ts'
import { resultOf } from '../scripts/mutants/test-run.ts'
import { verdictOf } from '../scripts/mutants/verdict.ts'
import { hasTest } from './support/titles.ts'

const mutant: Mutant = {
  name: 'off by one', rule: 'R3', wrong: 'It counts too far.', file: 'src/count.ts',
  edits: [{ from: 'i < n', to: 'i <= n' }],
  caughtBy: { file: 'src/count.test.ts', name: 'counts to n' },
}

describe('a mistake', () => {
  it('is made where its text stands, `$` and all', () => {
    expect(mutate('while (i < n) i++', mutant)).toBe('while (i <= n) i++')
    expect(mutate('a(i < n)', { ...mutant, edits: [{ from: 'i < n', to: "'$&'" }] })).toBe("a('$&')")
  })

  it.each([['while (i != n) i++', 'no more'], ['i < n; i < n', '2 times']])('is refused where its text does not stand once: %s', (source, times) => {
    expect(() => mutate(source, mutant)).toThrow(`the mutant no longer applies: "off by one" (R3) changes "i < n" in src/count.ts, which stands there ${times}`)
  })
})

const reported = (...tests: readonly [title: string, status: string, message?: string][]) =>
  ({ testResults: [{ assertionResults: tests.map(([title, status, message]) => ({ title, status, failureMessages: message === undefined ? [] : [message] })) }] })

describe('a mutant', () => {
  const verdict = (report: Parameters<typeof resultOf>[0], code: number | null) => verdictOf(resultOf(report, mutant.caughtBy.name, code)).type

  it.each([
    ['caught when the named test fails', reported(['counts to n', 'failed', 'AssertionError: expected 4 to be 3'], ['counts down', 'skipped']), 1, 'caught'],
    ['caught when one of a table with its name fails', reported(['counts to n', 'passed'], ['counts to n', 'failed', 'AssertionError']), 1, 'caught'],
    ['a survivor when the named test passes', reported(['counts to n', 'passed']), 0, 'survived'],
    ['a survivor when only another test fails', reported(['counts to n', 'passed'], ['counts down', 'failed', 'AssertionError']), 1, 'survived'],
    ['broken when another test fails and the named one is not there', reported(['counts up to n', 'failed', 'AssertionError']), 1, 'broken'],
    ['broken when the named test was left out', reported(['counts to n', 'skipped']), 0, 'broken'],
    ['broken when the file does not load', { testResults: [{ message: 'Unexpected token', assertionResults: [] }] }, 1, 'broken'],
    ['broken when the test passes and vitest fails', reported(['counts to n', 'passed']), 1, 'broken'],
    ['broken when it names what is not there', reported(['counts to n', 'failed', 'RUN_FAILED: run "r" failed: m is not defined']), 1, 'broken'],
  ] as const)('is %s', (_, report, code, expected) => {
    expect(verdict(report, code)).toBe(expected)
  })
})

describe('the catalog', () => {
  it('has mutants for each rule that keeps runs right, each with a name and a mistake of its own', () => {
    expect([...new Set(catalog.map(({ rule }) => rule))]).toEqual(expect.arrayContaining(['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R9', 'R10', 'R16']))
    expect(new Set(catalog.map(({ name }) => name)).size).toBe(catalog.length)
    expect(catalog.filter(({ edits }) => edits.length === 0 || edits.some(({ from, to }) => from === '' || from === to))).toEqual([])
  })

  it('fits the sources: each mistake can be made where its mechanism is now', () => {
    expect(catalog.flatMap(notApplicable)).toEqual([])
  })

  it('fits the tests: each one that has to notice a mistake is where the catalog says', () => {
    expect(catalog.filter(({ caughtBy: { file, name } }) => !hasTest(file, name)).map(({ caughtBy: { file, name } }) => `${file}: ${name}`)).toEqual([])
  })
})

describe('work in lanes', () => {
  it('is done by as many at a time as there are lanes, and gives its results in order', async () => {
    let open = 0
    let most = 0
    const results = await inLanes(['a', 'b'], [3, 1, 2], async (_, turns) => {
      most = Math.max(most, ++open)
      for (let i = 0; i < turns; i++) await Promise.resolve()
      open--
      return turns * 10
    })
    expect(results).toEqual([30, 10, 20])
    expect(most).toBe(2)
  })

  it('ends with the first error, and starts nothing more', async () => {
    const started: number[] = []
    const work = inLanes(['a'], [1, 2, 3], async (_, item) => {
      started.push(item)
      if (item === 2) throw new Error('two')
    })
    await expect(work).rejects.toThrow('two')
    expect(started).toEqual([1, 2])
  })
})

describe('the command line', () => {
  it('chooses by rule and by a part of the name', () => {
    const other: Mutant = { ...mutant, name: 'off by two', rule: 'R4' }
    expect(chosen([mutant, other], { only: undefined, rule: 'R4' })).toEqual([other])
    expect(chosen([mutant, other], { only: 'by one', rule: undefined })).toEqual([mutant])
    expect(() => chosen([mutant], { only: 'on by', rule: 'R3' })).toThrow('no mutant of the name "on by" of rule R3: --list shows all')
  })

  it('takes r5 for R5, and refuses what is no rule and what it does not know', () => {
    expect(readOptions(['--rule', 'r5', '--json'])).toEqual({ only: undefined, rule: 'R5', list: false, json: true })
    expect(readOptions(['--help'])).toBeUndefined()
    expect(() => readOptions(['--rule', 'R99'])).toThrow('--rule must be one of R1, R2')
    expect(() => readOptions(['--quick'])).toThrow("Unknown option '--quick'")
  })
})
