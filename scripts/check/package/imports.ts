/** What an import costs: no entry loads a third-party package but the one dependency, or SQLite before a store is opened. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expectSuccess } from '../command.ts'
import { refuse } from '../failure.ts'
import { entries, manifest } from '../project.ts'

interface Loaded {
  readonly files: readonly string[]
  readonly native: readonly string[]
  readonly exported: readonly string[]
}

/** Imports each entry in a process of its own, in a project that has none of the optional peers. */
export async function checkImports(project: string): Promise<string> {
  const program = join(project, 'loaded.mjs')
  cpSync(new URL('loaded.mjs', import.meta.url), program)
  const allowed = new Set([manifest.name, ...Object.keys(manifest.dependencies)])
  for (const { specifier } of entries) {
    const { out, err } = await expectSuccess(process.execPath, [program, specifier], { cwd: project })
    const { files, native, exported } = JSON.parse(out) as Loaded
    const packages = new Set(files.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))
    refuse(`importing ${specifier}`, [
      ...[...packages].filter((name) => !allowed.has(name)).map((name) => `loads ${name}`),
      ...(native.includes('sqlite') ? ['loads node:sqlite'] : []),
      ...(exported.length === 0 ? ['gives nothing'] : []),
      ...(err === '' ? [] : [`says: ${err.trim()}`]),
    ])
  }
  return `${entries.length} entries import without a peer`
}
