/** Who may know whom (docs of the house: "Arrows go down only"). What is not listed is refused. */
import type { Module } from './modules.ts'

interface Arrows {
  /** Folders below `src`, or single files in them. */
  readonly knows: readonly string[]
  /** Known by their types alone. */
  readonly types?: readonly string[]
}

const BELOW_RUN = ['core', 'errors.ts', 'journal', 'replay', 'effects', 'reliability']

/** Of each folder below `src`, and of the files beside them. A folder knows itself. */
export const ARROWS: Readonly<Record<string, Arrows>> = {
  'core': { knows: [] },
  'errors.ts': { knows: [] },
  'journal': { knows: ['core', 'errors.ts'] },
  // How a step is called is one file without imports; the ledger asks it which steps lie within which.
  'effects': { knows: ['core', 'errors.ts', 'replay/identity.ts'], types: ['journal'] },
  'replay': { knows: ['core', 'errors.ts', 'effects'], types: ['journal'] },
  'reliability': { knows: ['core', 'errors.ts'] },
  'stores': { knows: ['core', 'errors.ts', 'journal/store.ts'] },
  'run': { knows: BELOW_RUN },
  'ai-sdk': { knows: ['core', 'errors.ts', 'journal', 'reliability', 'run'] },
  // Without a store, runs are kept in memory.
  'runner': { knows: [...BELOW_RUN, 'run', 'ai-sdk', 'stores/memory.ts'] },
  'cli': { knows: [...BELOW_RUN, 'run', 'runner', 'stores/sqlite.ts', 'stores/encrypted.ts', 'index.ts'] },
  'testing': { knows: ['core', 'errors.ts'] },
  'index.ts': { knows: [...BELOW_RUN, 'run', 'ai-sdk', 'runner', 'stores/memory.ts', 'stores/sqlite.ts'] },
}

/** Third-party packages, and who may load them. All others know them at most by their types. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  devalue: ['journal/flat.ts'],
  // When it is used: a loop of the AI SDK has it loaded by then.
  ai: ['ai-sdk/files.ts'],
}

const within = (file: string, places: readonly string[]): boolean =>
  places.some((place) => file === place || file.startsWith(`${place}/`))

/** Each import that is no arrow of the house, in words. */
export function brokenArrows(modules: readonly Module[]): string[] {
  return modules.flatMap(({ path, imports }) => {
    const from = path.replace(/^src\//, '')
    const area = from.split('/')[0]!
    const arrows = ARROWS[area]
    if (arrows === undefined) return [`${path}: the folder ${area} has no arrows`]
    return imports.filter(({ to, typeOnly }) => {
      if (to.startsWith('node:')) return false
      if (!to.startsWith('src/')) return !typeOnly && !within(from, PACKAGES[to] ?? [])
      const file = to.replace(/^src\//, '')
      return !within(file, [area, ...arrows.knows, ...(typeOnly ? (arrows.types ?? []) : [])])
    }).map(({ to, typeOnly }) => `${path} knows ${to}${typeOnly ? ' (types)' : ''}`)
  })
}
