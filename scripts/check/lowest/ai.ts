/** The lowest `ai` and `@ai-sdk/provider` that package.json promises to work with. */
import { expectSuccess } from '../command.ts'
import { install, link, pack } from '../package/pack.ts'
import { checkTypes } from '../package/types.ts'
import { lowest, manifest, VITEST } from '../project.ts'
import { inTemporaryFolder } from '../temporary.ts'
import { overlay } from './overlay.ts'

export async function lowestAi(): Promise<string> {
  const peers = Object.fromEntries(Object.entries(manifest.peerDependencies).map(([name, range]) => [name, lowest(range)]))
  // The zod of this project: the other packages here have it.
  const versions = { ...peers, zod: manifest.devDependencies['zod']! }
  return inTemporaryFolder(async (folder) => {
    // The sources know parts and fields that came later, so the types are tried as they are packed.
    const user = await install((await pack(folder)).tarball, folder, versions)
    link(user, ['@types/node'])
    const seen = await checkTypes(user)
    await expectSuccess(process.execPath, [VITEST, 'run'], { cwd: await overlay(folder, versions), loud: true })
    return `${Object.entries(peers).map(([name, version]) => `${name} ${version}`).join(', ')}: ${seen}, and the tests pass`
  })
}
