/** Named tests of one file, run by vitest in a process of their own. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { VITEST } from '../check/project.ts'

/** Nothing that is named here takes as long; a mutant may hang. */
const TEST_MS = 10_000
const PROCESS_MS = 60_000

export type TestResult =
  | { readonly type: 'passed' }
  /** It failed itself, with these messages. */
  | { readonly type: 'failed'; readonly messages: readonly string[] }
  /** It did not come to run, or its process did not end. */
  | { readonly type: 'broken'; readonly message: string }

/** As far as it is read here, vitest's JSON report. */
export interface Report {
  readonly testResults: readonly {
    readonly message?: string
    readonly assertionResults: readonly { readonly title: string; readonly status: string; readonly failureMessages?: readonly string[] | null }[]
  }[]
}

/** Runs tests of one file in the project at `cwd`, and gives their results by name. `signal` ends it. */
export async function runTests(cwd: string, file: string, names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, TestResult>> {
  const report = join(cwd, '..', 'report.json')
  rmSync(report, { force: true })
  const code = await vitest(cwd, [
    'run', file, '--testNamePattern', `(?:${names.map(escaped).join('|')})$`, '--testTimeout', String(TEST_MS),
    // In threads, since with their process they are gone, also where a mutant never comes back.
    '--pool', 'threads', '--no-cache', '--fsModuleCachePath', join(cwd, '..', 'cache'),
    '--reporter', 'json', '--outputFile', report,
  ], signal)
  const said = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : undefined
  return new Map(names.map((name) => [name, said ? resultOf(said, name, code) : { type: 'broken', message: `vitest ended with ${code ?? 'a signal'} and without a report` }]))
}

/** What a report says about a test. Of several with its name, one that failed is enough. */
export function resultOf({ testResults }: Report, name: string, code: number | null): TestResult {
  const ran = testResults.flatMap((file) => file.assertionResults).filter(({ status }) => status === 'passed' || status === 'failed')
  const named = ran.filter(({ title }) => title === name)
  const failed = named.filter(({ status }) => status === 'failed')
  if (failed.length > 0 && code === 1) return { type: 'failed', messages: failed.flatMap(({ failureMessages }) => failureMessages ?? []) }
  if (failed.length === 0 && named.length > 0) {
    const isExplained = code === 0 || (code === 1 && ran.some(({ status }) => status === 'failed'))
    return isExplained ? { type: 'passed' } : { type: 'broken', message: `vitest ended with ${code ?? 'a signal'} although the test passed` }
  }
  const [message] = testResults.flatMap((file) => file.message || [])
  return { type: 'broken', message: message?.split('\n')[0] ?? `there is no test of the name "${name}"` }
}

function vitest(cwd: string, args: readonly string[], signal: AbortSignal): Promise<number | null> {
  const child = spawn(process.execPath, [VITEST, ...args], {
    cwd, signal, stdio: 'ignore', timeout: PROCESS_MS, killSignal: 'SIGKILL', env: { ...process.env, CI: 'true' },
  })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(signal.aborted ? signal.reason : error))
    child.once('close', resolve)
  })
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
