/** The modules of a folder and what they import, read from their text: the compiler in use has no API to ask. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Import {
  /** As written, such as `node:fs` or `devalue`; for a module of ours its path from the project's root. */
  readonly to: string
  /** Nothing of it is left when the program runs. */
  readonly typeOnly: boolean
}

export interface Module {
  /** From the project's root, with `/`, such as `src/core/clock.ts`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

/** The TypeScript modules below `folder` (from the project's root). */
export function modulesOf(folder: string): Module[] {
  return readdirSync(posix.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && /\.m?ts$/.test(file.name))
    .map((file) => relative(root, posix.join(file.parentPath, file.name)).replaceAll(sep, '/'))
    .sort()
    .map((path) => moduleOf(path, readFileSync(posix.join(root, path), 'utf8')))
}

const NAMES = String.raw`\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+(?:\s*,\s*\{[^}]*\})?`
const STATEMENT = new RegExp(String.raw`^[ \t]*(?:import|export)\s+(?:(type)\s+)?(${NAMES})\s*from\s*'([^'\n]+)'`, 'gm')
const BARE = /^[ \t]*import\s+'([^'\n]+)'/gm
const CALL = /(typeof\s+)?\bimport\(\s*'([^'\n]+)'/g

/** A module from its text. Comments count as no code. */
export function moduleOf(path: string, text: string): Module {
  const code = withoutComments(text)
  const imports: Import[] = []
  for (const [, type, names, specifier] of code.matchAll(STATEMENT)) {
    imports.push({ to: resolved(path, specifier!), typeOnly: type !== undefined || onlyTypes(names!) })
  }
  for (const [, specifier] of code.matchAll(BARE)) imports.push({ to: resolved(path, specifier!), typeOnly: false })
  for (const [, type, specifier] of code.matchAll(CALL)) imports.push({ to: resolved(path, specifier!), typeOnly: type !== undefined })
  return { path, text, imports }
}

/** The text with each comment blanked, its lines kept. Not for text inside strings that looks like a comment after a space. */
export function withoutComments(text: string): string {
  const blank = (comment: string): string => comment.replaceAll(/[^\n]/g, ' ')
  return text.replaceAll(/(?<![^\s;{(,])\/\*[\s\S]*?\*\//g, blank).replaceAll(/(?<!\S)\/\/[^\n]*/g, blank)
}

const onlyTypes = (names: string): boolean => {
  const list = /^\{([^}]*)\}$/.exec(names.trim())?.[1]?.split(',').map((name) => name.trim()).filter(Boolean)
  return list !== undefined && list.length > 0 && list.every((name) => name.startsWith('type '))
}

const resolved = (from: string, specifier: string): string =>
  specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier
