/**
 * Checks everything that the tests do not: `npm run check`, the same in CI. With names it runs those checks alone
 * (`npm run check -- types lint`); the runs on the lowest supported versions have to be named, and `--help` lists all.
 */
import { performance } from 'node:perf_hooks'
import { architecture, lint, types } from './check/code.ts'
import { CheckFailure } from './check/failure.ts'
import { examples } from './check/examples/check.ts'
import { lockfile } from './check/lockfile.ts'
import { lowestAi } from './check/lowest/ai.ts'
import { lowestNode } from './check/lowest/node.ts'
import { packages } from './check/package/check.ts'

interface Check {
  readonly what: string
  /** Resolves with what to say about it; rejects with a {@link CheckFailure}. */
  readonly run: () => Promise<string>
}

const CHECKS: Readonly<Record<string, Check>> = {
  'types': { what: 'the compiler accepts sources, tests, scripts and demo', run: types },
  'lint': { what: 'the linter has nothing to say', run: lint },
  'architecture': { what: 'imports follow the arrows of the house', run: architecture },
  'lockfile': { what: 'versions are exact, the lockfile has checksums and no addresses', run: lockfile },
  'examples': { what: 'the examples of pages and docstrings compile', run: examples },
  'package': { what: 'the packed package installs, imports, has types, starts', run: packages },
}

const LOWEST: typeof CHECKS = {
  'lowest-ai': { what: 'the tests pass with the lowest supported ai and @ai-sdk/provider', run: lowestAi },
  'lowest-node': { what: 'the tests pass, and the package works, on the lowest supported Node', run: lowestNode },
}

const all = { ...CHECKS, ...LOWEST }
const names = process.argv.slice(2)
const unknown = names.filter((name) => !(name in all))
if (unknown.length > 0) {
  for (const [name, { what }] of Object.entries(all)) console.log(`${name.padEnd(13)} ${what}`)
  process.exit(unknown.includes('--help') ? 0 : 2)
}

const failed: string[] = []
for (const name of names.length > 0 ? names : Object.keys(CHECKS)) {
  const { what, run } = all[name]!
  console.log(`\n${name}: ${what}`)
  const began = performance.now()
  const seconds = (): string => `${((performance.now() - began) / 1000).toFixed(1)} s`
  try {
    console.log(`${name}: ok, ${await run()} (${seconds()})`)
  } catch (error) {
    failed.push(name)
    console.error(error instanceof CheckFailure ? error.message : error)
    console.error(`${name}: FAILED (${seconds()})`)
  }
}
console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
