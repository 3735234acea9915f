/** What is in the tarball: what its entries lead to, and nothing else. */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { refuse } from '../failure.ts'
import { entries, manifest } from '../project.ts'

const BESIDE = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md']

/** Refuses files that no entry leads to (tests, fixtures, maps, sources), and entries that lead nowhere. */
export function checkFiles(files: readonly string[], folder: string): string {
  const roots = [...entries.map(({ file }) => file), ...Object.values(manifest.bin)].map((file) => posix.normalize(file))
  const needed = reachable(roots, (file) => (files.includes(file) ? readFileSync(join(folder, file), 'utf8') : undefined))
  refuse('the tarball', [
    ...[...BESIDE, ...needed].filter((file) => !files.includes(file)).map((file) => `lacks ${file}`),
    ...files.filter((file) => !BESIDE.includes(file) && !needed.has(file)).map((file) => `has ${file}, which no entry leads to`),
  ])
  return `${files.length} files`
}

const REFERENCE = /(?:\bfrom\s*|\bimport\s*\(?\s*|new URL\(\s*)['"`](\.[^'"`\n]*)['"`]/g

/** All that `roots` lead to by imports, by types and by files that are started by their place; declarations go with their module. */
function reachable(roots: readonly string[], read: (file: string) => string | undefined): Set<string> {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    if (/(?<!\.d)\.(?:ts|js)$/.test(file)) visit(file.replace(/\.(?:ts|js)$/, '.d.ts'))
    for (const [, path] of (read(file) ?? '').matchAll(REFERENCE)) {
      const target = posix.join(posix.dirname(file), path!.replace('${extension}', 'js')).replace(/(?<!\.d)\.ts$/, '.js')
      if (target.endsWith('.js')) visit(target)
    }
  }
  roots.forEach(visit)
  return seen
}
