/** A copy of this project in which some packages have other versions. The project itself is left as it is. */
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expectSuccess } from '../command.ts'
import { root } from '../project.ts'

const LEFT_OUT = new Set(['node_modules', '.git', 'dist', 'coverage'])

/** Makes the copy below `folder`, with `versions` installed and the other packages linked. Returns its place. */
export async function overlay(folder: string, versions: Readonly<Record<string, string>>): Promise<string> {
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, dependencies: versions }))
  await expectSuccess('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: project })
  for (const name of packagesOf(root)) {
    const path = join(project, 'node_modules', name)
    if (existsSync(path)) continue
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), path)
  }
  for (const name of readdirSync(root)) {
    if (!LEFT_OUT.has(name)) cpSync(join(root, name), join(project, name), { recursive: true })
  }
  // Tests read real data beside the project, where it is there.
  if (existsSync(join(root, '../shared'))) symlinkSync(join(root, '../shared'), join(folder, 'shared'))
  return project
}

/** Names of the packages that are installed at the top of a project. */
function packagesOf(project: string): string[] {
  const list = (folder: string): string[] => readdirSync(join(project, 'node_modules', folder)).filter((name) => !name.startsWith('.'))
  return list('').flatMap((name) => (name.startsWith('@') ? list(name).map((inner) => `${name}/${inner}`) : [name]))
}
