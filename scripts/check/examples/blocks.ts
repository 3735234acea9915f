/** The examples in pages (blocks marked `ts`) and in docstrings (what follows `@example`). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../project.ts'

export interface Example {
  /** From the project's root. */
  readonly file: string
  /** Of its first line of code in the file; the first line is 1. */
  readonly line: number
  readonly code: string
}

/** Blocks of a page. */
export function pageExamples(file: string, text: string): Example[] {
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((match) => ({ file, line: lineAt(text, match.index) + 1, code: match[1]! }))
}

/** Examples in the docstrings of a module. */
export function docstringExamples(file: string, text: string): Example[] {
  return [...text.matchAll(/^ *\* @example\n([\s\S]*?)(?=^ *\*(?:\/| @))/gm)].map((match) => ({
    file, line: lineAt(text, match.index) + 1, code: match[1]!.replaceAll(/^ *\* ?/gm, ''),
  }))
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

/** All of them, in the order of their files. */
export function allExamples(): Example[] {
  const under = (folder: string, pattern: RegExp): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) => pattern.test(file)).map((file) => join(folder, file)).sort()
  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  return [
    ...['README.md', 'CONTRIBUTING.md', ...under('docs', /\.md$/)].flatMap((file) => pageExamples(file, read(file))),
    ...under('src', /(?<!\.test)\.ts$/).flatMap((file) => docstringExamples(file, read(file))),
  ]
}
