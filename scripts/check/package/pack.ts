/** The package as users get it: built, packed, and installed in an empty project. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expectSuccess } from '../command.ts'
import { manifest, root, TSC } from '../project.ts'

export interface Packed {
  readonly tarball: string
  /** What is in it, from the package's root. */
  readonly files: readonly string[]
}

/** Builds into a copy of the package's folder below `folder`, so that nothing old gets in, and packs that. */
export async function pack(folder: string): Promise<Packed> {
  const source = join(folder, 'source')
  mkdirSync(source)
  const own = readdirSync(root).filter((name) => /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(name))
  for (const name of own) cpSync(join(root, name), join(source, name))
  await expectSuccess(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', join(source, 'dist')])
  const { out } = await expectSuccess('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: source })
  const [packed] = JSON.parse(out) as [{ filename: string; files: { path: string }[] }]
  return { tarball: join(folder, packed.filename), files: packed.files.map(({ path }) => path) }
}

/** Installs the tarball in an empty project, without its optional peers but those of `versions`. Returns the project's folder. */
export async function install(tarball: string, folder: string, versions: Readonly<Record<string, string>> = {}): Promise<string> {
  const project = join(folder, 'user')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: versions }))
  await expectSuccess('npm', ['install', '--prefer-offline', '--omit=peer', '--no-audit', '--no-fund', tarball], { cwd: project })
  return project
}

/** Links packages of this project into another one, beside what is installed there. */
export function link(project: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(project, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), path)
  }
}

/** Where the package is in a project that has it. */
export const installed = (project: string): string => join(project, 'node_modules', manifest.name)
