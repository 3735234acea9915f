/** The lowest Node that package.json promises to work on. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expectSuccess } from '../command.ts'
import { install, pack } from '../package/pack.ts'
import { checkRuns } from '../package/run.ts'
import { lowest, manifest, VITEST } from '../project.ts'
import { inTemporaryFolder } from '../temporary.ts'

// That Node runs TypeScript when told to; the package itself is JavaScript, and is tried without flags.
const FLAGS = '--experimental-strip-types --disable-warning=ExperimentalWarning'

export async function lowestNode(): Promise<string> {
  const version = lowest(manifest.engines.node)
  return inTemporaryFolder(async (folder) => {
    const node = await installNode(version, join(folder, 'node'))
    const { tarball } = await pack(folder)
    const seen = await checkRuns(await install(tarball, folder), node)
    const env = { ...process.env, NODE_OPTIONS: FLAGS, PATH: dirname(node) + delimiter + process.env['PATH'] }
    await expectSuccess(node, [VITEST, 'run'], { env, loud: true })
    return `Node ${version}: ${seen}, and the tests pass`
  })
}

/** Installs a Node from its npm package into `folder`; returns its program. */
async function installNode(version: string, folder: string): Promise<string> {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { node: version }, allowScripts: { node: true } }))
  await expectSuccess('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder })
  return join(folder, 'node_modules/node/bin/node')
}
