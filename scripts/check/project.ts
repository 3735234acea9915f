/** Where things are in this project, and what its package.json says. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** Program of an installed tool, to be run by this Node. */
export const TSC = join(root, 'node_modules/typescript/bin/tsc')
export const OXLINT = join(root, 'node_modules/oxlint/bin/oxlint')
export const VITEST = join(root, 'node_modules/vitest/vitest.mjs')

/** What a user imports by each entry, such as `holdfast/testing`, and the file behind it. Data files are left out. */
export const entries: readonly { readonly specifier: string; readonly file: string }[] = Object.entries(manifest.exports).flatMap(
  ([path, target]) => (typeof target === 'string' ? [] : [{ specifier: manifest.name + path.slice(1), file: target.default }]),
)

/** The lowest version that a range such as `^7.0.0` or `>=22.13` takes. */
export function lowest(range: string): string {
  const [, major, minor = '0', patch = '0'] = /^(?:\^|~|>=)(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(range) ?? []
  if (major === undefined) throw new Error(`no lowest version in the range ${range}`)
  return `${major}.${minor}.${patch}`
}
