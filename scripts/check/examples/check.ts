/** Compiles every example: a page must not show what does not exist (any more). */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execute } from '../command.ts'
import { CheckFailure, refuse } from '../failure.ts'
import { entries, root, TSC } from '../project.ts'
import { inTemporaryFolder } from '../temporary.ts'
import { allExamples, type Example } from './blocks.ts'
import { AMBIENT, IMPORTS, PACKAGES, SUPPORT } from './names.ts'

export async function examples(): Promise<string> {
  const found = allExamples()
  await inTemporaryFolder(async (folder) => {
    const at = (name: string): string => join(folder, name)
    symlinkSync(join(root, 'node_modules'), at('node_modules'))
    writeFileSync(at('package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(at('ambient.ts'), AMBIENT)
    writeFileSync(at('packages.d.ts'), PACKAGES)
    writeFileSync(at('tsconfig.json'), JSON.stringify(config()))
    for (const [n, example] of found.entries()) {
      mkdirSync(at(`${n}`))
      writeFileSync(at(`${n}/support.ts`), SUPPORT)
      writeFileSync(at(`${n}/example.ts`), moduleOf(example))
    }
    const { code, out, err } = await execute(process.execPath, [TSC, '-p', 'tsconfig.json', '--pretty', 'false'], { cwd: folder })
    refuse('examples', complaints(out, found))
    if (code !== 0) throw new CheckFailure(out + err)
  })
  return `${found.length} examples`
}

/** The compiler's words, with the place in the page. */
function complaints(out: string, found: readonly Example[]): string[] {
  return out.split('\n').filter(Boolean).map((line) => {
    const [, n, row, column, words] = /^(\d+)\/example\.ts\((\d+),(\d+)\): (.*)$/.exec(line) ?? []
    const example = n === undefined ? undefined : found[Number(n)]
    return example ? `${example.file}:${example.line + Number(row) - (isProgram(example) ? 1 : 2)}:${column}: ${words}` : line
  })
}

const config = (): object => ({
  extends: join(root, 'tsconfig.json'),
  compilerOptions: {
    // Fragments leave types out.
    noImplicitAny: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    preserveSymlinks: false,
    typeRoots: [join(root, 'node_modules/@types')],
    paths: Object.fromEntries(entries.map(({ specifier, file }) => [specifier, [join(root, sourceOf(file))]])),
  },
  include: ['*.ts', '*/example.ts'],
})

/** `./dist/index.js` is made from `src/index.ts`. */
const sourceOf = (file: string): string => file.replace('./dist/', 'src/').replace(/\.js$/, '.ts')

/** A program with imports of its own is taken as it is; what has none is a fragment. */
const isProgram = ({ code }: Example): boolean => /^import\b/m.test(code)

/**
 * A fragment stands inside of a function, and gets what it names of our own entries, of its own module and of the packages that everyone
 * knows. The imports come last, so that its lines keep their numbers.
 */
function moduleOf(example: Example): string {
  const { file, code } = example
  if (isProgram(example)) return code
  const missing = new Set([...code.matchAll(/[A-Za-z_]\w*/g)].map(([name]) => name))
  for (const [, name] of code.matchAll(/\b(?:const|let|function|class|type)\s+(\w+)/g)) missing.delete(name!)
  const lines: string[] = []
  const take = (names: readonly string[], from: string): void => {
    lines.push(`import { ${names.filter((name) => missing.delete(name)).join(', ')} } from '${from}'`)
  }
  for (const [name, names] of Object.entries(IMPORTS)) take(names, name)
  for (const { specifier, file: target } of entries) take(exportsOf(sourceOf(target)), specifier)
  if (file.endsWith('.ts')) take(exportsOf(file), join(root, file))
  return ['export const example = async () => {', `${code}}`, ...lines].join('\n')
}

/** Names of the values that a module exports. */
function exportsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const listed = [...text.matchAll(/^export \{([^}]*)\}/gm)].flatMap((match) => match[1]!.split(',').map((name) => name.trim()))
  const declared = [...text.matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)].map((match) => match[1]!)
  return [...new Set([...listed, ...declared])].filter((name) => /^\w+$/.test(name))
}
