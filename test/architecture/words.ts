/** Calls that belong in few places: what waits, what tells the time, what is random, what prints. */
import { withoutComments, type Module } from './modules.ts'

interface Word {
  readonly what: string
  readonly pattern: RegExp
  /** Folders or files below `src` that may. */
  readonly where: readonly string[]
}

export const WORDS: readonly Word[] = [
  {
    what: 'a timer',
    pattern: /\b(?:setTimeout|setInterval|setImmediate|AbortSignal\.timeout)\(|'node:timers/,
    // Lets calls of a store under test overlap.
    where: ['core', 'stores/conformance/append.ts'],
  },
  { what: 'the time', pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bhrtime\b/, where: ['core'] },
  { what: 'randomness', pattern: /\bMath\.random\b|\brandom(?:Bytes|Int)\(|\bgetRandomValues\b/, where: ['core'] },
  // Of this process and of a run without an id: nothing is replayed by them.
  { what: 'a random id', pattern: /\brandomUUID\(/, where: ['core', 'run/owner.ts', 'runner/runner.ts'] },
  { what: 'console', pattern: /\bconsole\./, where: ['cli', 'testing'] },
]

/** Each use of such a word where it does not belong, as `path:line`. */
export function strayWords(modules: readonly Module[]): string[] {
  return modules.flatMap(({ path, text }) => {
    const file = path.replace(/^src\//, '')
    const words = WORDS.filter(({ where }) => !where.some((place) => file === place || file.startsWith(`${place}/`)))
    return withoutComments(text).split('\n').flatMap((line, at) =>
      words.filter(({ pattern }) => pattern.test(line)).map(({ what }) => `${path}:${at + 1}: ${what}`))
  })
}
