/** Copies of the project in which mistakes may be made. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../check/project.ts'
import { mutate, type Mutant } from './mutant.ts'

const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist', 'coverage'])

export class ProjectCopy {
  readonly path: string

  /** Makes it below `folder`. The packages are those of the project itself. */
  constructor(folder: string, name: string) {
    this.path = join(folder, name, 'project')
    mkdirSync(this.path, { recursive: true })
    for (const entry of readdirSync(root)) {
      if (!LEFT_OUT.has(entry)) cpSync(join(root, entry), join(this.path, entry), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(this.path, 'node_modules'))
    // Tests read recorded data beside the project, where it is there.
    if (existsSync(join(root, '../shared'))) symlinkSync(join(root, '../shared'), join(folder, name, 'shared'))
  }

  /** Runs `work` on the copy with the mistake in it, and takes it out again. @throws NoLongerApplies. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const file = join(this.path, mutant.file)
    const source = readFileSync(file, 'utf8')
    writeFileSync(file, mutate(source, mutant))
    try {
      return await work()
    } finally {
      writeFileSync(file, source)
    }
  }
}
