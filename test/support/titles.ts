/** Titles of tests and of groups of tests, as they are written in their files. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

export function titlesIn(file: string): Set<string> {
  const text = readFileSync(root + file, 'utf8')
  return new Set([...text.matchAll(/\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,\s*(?:async )?(?:\(|_ =>)/g)].map(([, , title]) => title!.replaceAll("\\'", "'")))
}

/** Whether a test of this name is in the file, or of a table whose title has room for it (`%s`, `$name`, `${name}`). */
export function hasTest(file: string, name: string): boolean {
  return [...titlesIn(file)].some((title) => new RegExp(`^${title.split(/%[sdijfo]|\$\{[^}]*\}|\$[\w.]+/).map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('.*')}$`, 's').test(name))
}
