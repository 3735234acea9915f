/** The installed package at work: a run, and the command line. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { execute, expectSuccess } from '../command.ts'
import { refuse } from '../failure.ts'
import { lowest, manifest } from '../project.ts'
import { installed } from './pack.ts'

/** Runs the smoke program and the command line with the Node `node`. */
export async function checkRuns(project: string, node: string): Promise<string> {
  cpSync(new URL('smoke.mjs', import.meta.url), join(project, 'smoke.mjs'))
  const store = join(project, `runs-${Date.now()}.db`)
  await expectSuccess(node, ['smoke.mjs', store], { cwd: project })

  const bin = join(installed(project), manifest.bin['holdfast']!)
  const says = async (...args: string[]): Promise<string> => {
    const { out, err } = await expectSuccess(node, [bin, ...args], { cwd: project })
    refuse(`holdfast ${args.join(' ')}`, err === '' ? [] : [`writes on standard error: ${err.trim()}`])
    return out
  }
  const version = await says('--version')
  refuse('holdfast --version', version.includes(manifest.version) ? [] : [`says ${version}`])
  const help = await says('--help')
  refuse('holdfast --help', ['run', 'resume', 'list', 'show', 'resolve'].filter((command) => !help.includes(command)).map((command) => `lacks ${command}`))
  const list = JSON.parse(await says('list', '--store', store, '--json')) as unknown
  refuse('holdfast list', JSON.stringify(list).includes('"run-1"') ? [] : [`does not list run-1: ${JSON.stringify(list)}`])
  return 'a run, and the command line'
}

/** On a Node that is too old, the command line says so in one sentence. Needs one: the Node of npm, where it is older. */
export async function checkTooOld(project: string): Promise<string> {
  const node = process.env['npm_node_execpath']
  if (node === undefined) return 'not tried on an older Node: started without npm'
  const { out: version } = await expectSuccess(node, ['-p', 'process.versions.node'])
  const [major, minor] = lowest(manifest.engines.node).split('.').map(Number) as [number, number]
  const [has, hasMinor] = version.split('.').map(Number) as [number, number]
  if (has > major || (has === major && hasMinor >= minor)) return `not tried on an older Node: npm runs on ${version.trim()}`
  const { code, out, err } = await execute(node, [join(installed(project), manifest.bin['holdfast']!), 'list'], { cwd: project })
  refuse(`holdfast on Node ${version.trim()}`, code === 2 && out === '' && /^[^\n]*needs Node[^\n]*\n$/.test(err) ? [] : [`ends with ${code}: ${out}${err}`])
  return `refuses Node ${version.trim()} in one sentence`
}
