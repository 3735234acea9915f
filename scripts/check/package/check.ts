/** Builds, packs and installs the package, and looks at it as a user does. */
import { inTemporaryFolder } from '../temporary.ts'
import { checkFiles } from './files.ts'
import { checkImports } from './imports.ts'
import { install, installed, link, pack } from './pack.ts'
import { checkRuns, checkTooOld } from './run.ts'
import { checkTypes } from './types.ts'

export async function packages(): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    const { tarball, files } = await pack(folder)
    const project = await install(tarball, folder)
    const seen = [
      checkFiles(files, installed(project)),
      await checkImports(project),
      await checkRuns(project, process.execPath),
      await checkTooOld(project),
    ]
    link(project, ['ai', '@ai-sdk/provider', 'zod', '@types/node'])
    seen.push(await checkTypes(project))
    return seen.join('; ')
  })
}
