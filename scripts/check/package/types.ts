/** The types that come with the package, as the strictest of users compile against them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execute } from '../command.ts'
import { refuse } from '../failure.ts'
import { entries, TSC } from '../project.ts'
import { CONSUMER } from './consumer.ts'

const STRICT = {
  target: 'es2023',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  noEmit: true,
}

const RESOLUTIONS: readonly object[] = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
]

/** Compiles a program and an import of each entry; errors in the types of other packages are theirs. */
export async function checkTypes(project: string): Promise<string> {
  writeFileSync(join(project, 'consumer.ts'), CONSUMER)
  writeFileSync(join(project, 'entries.ts'), entries.map(({ specifier }, n) => `export * as entry${n} from '${specifier}'\n`).join(''))
  for (const resolution of RESOLUTIONS) {
    const config = { compilerOptions: { ...STRICT, ...resolution }, files: ['consumer.ts', 'entries.ts'] }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config))
    const { code, out, err } = await execute(process.execPath, [TSC, '-p', 'tsconfig.json', '--pretty', 'false'], { cwd: project })
    const lines = (out + err).split('\n').filter((line) => /\S/.test(line))
    const theirs = (line: string): boolean => /^\s|^\.\.\/|node_modules\/(?!holdfast\/)/.test(line)
    refuse(`types, ${JSON.stringify(resolution)}`, lines.filter((line) => !theirs(line)))
    if (code !== 0 && lines.length === 0) refuse('the compiler', [`ended with ${code}`])
  }
  return 'types resolve as nodenext and as bundler'
}
