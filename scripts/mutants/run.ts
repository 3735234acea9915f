/** All mutants, one after the other: first their tests without a mistake, then each mistake. */
import { performance } from 'node:perf_hooks'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { refuse } from '../check/failure.ts'
import { root } from '../check/project.ts'
import { inTemporaryFolder } from '../check/temporary.ts'
import { inLanes } from './lanes.ts'
import { mutate, NoLongerApplies, type Mutant } from './mutant.ts'
import { ProjectCopy } from './project-copy.ts'
import { progressOf, type Judged } from './report.ts'
import { runTests } from './test-run.ts'
import { verdictOf } from './verdict.ts'

const AT_A_TIME = 2

/** @throws CheckFailure where a mutant no longer applies, or a named test does not pass as it is; the signal's reason. */
export async function runMutants(mutants: readonly Mutant[], tell: (line: string) => void, signal: AbortSignal): Promise<readonly Judged[]> {
  refuse('The catalog does not fit the sources', mutants.flatMap(notApplicable))
  return inTemporaryFolder(async (folder) => {
    const copies = Array.from({ length: AT_A_TIME }, (_, i) => new ProjectCopy(folder, `copy-${i + 1}`))
    const files = [...Map.groupBy(mutants.map(({ caughtBy }) => caughtBy), ({ file }) => file)]
      .map(([file, tests]) => ({ file, names: [...new Set(tests.map(({ name }) => name))] }))
    tell(`${files.reduce((sum, { names }) => sum + names.length, 0)} tests in ${files.length} files, without a mistake`)
    const complaints = await inLanes(copies, files, ({ path }, { file, names }) => notPassing(path, file, names, signal))
    refuse('Tests that do not pass as they are can say nothing', complaints.flat())
    tell(`${mutants.length} mutants`)
    let done = 0
    return inLanes(copies, mutants, async (copy, mutant) => {
      const began = performance.now()
      const { file, name } = mutant.caughtBy
      const results = await copy.with(mutant, () => runTests(copy.path, file, [name], signal))
      const verdict = verdictOf(results.get(name)!)
      const judged: Judged = { mutant, verdict, seconds: (performance.now() - began) / 1000 }
      tell(progressOf(judged, ++done, mutants.length))
      return judged
    })
  })
}

/** In words, what of the mutant is not in the sources; empty: it applies. */
export function notApplicable(mutant: Mutant): string[] {
  try {
    mutate(readFileSync(join(root, mutant.file), 'utf8'), mutant)
    return []
  } catch (error) {
    if (error instanceof NoLongerApplies) return [error.message]
    throw error
  }
}

async function notPassing(path: string, file: string, names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const results = await runTests(path, file, names, signal)
  return [...results].flatMap(([name, result]) => {
    if (result.type === 'passed') return []
    return [`${file}: ${name}: ${(result.type === 'broken' ? result.message : result.messages[0])?.split('\n')[0]}`]
  })
}
