/** Versions: what is installed is what was tried, from whatever registry. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { refuse } from './failure.ts'
import { manifest, root } from './project.ts'

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}

export async function lockfile(): Promise<string> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { version: string; packages: Record<string, Locked> }
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
  const direct = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
  refuse('package-lock.json', [
    ...(lock.version === manifest.version ? [] : [`is of version ${lock.version}, package.json of ${manifest.version}`]),
    ...packages.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => `${path} has the address of a registry`),
    ...packages.filter(([, { integrity, link }]) => integrity === undefined && !link).map(([path]) => `${path} has no checksum`),
  ])
  refuse('package.json', direct.filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range)).map(([name, range]) => `${name} has no exact version: ${range}`))
  return `${packages.length} packages`
}
