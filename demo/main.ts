/** The demo: see `--help`. Starts the world, the model and the agent, kills the agent, starts it again, and counts. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Children } from './children.ts'
import { LIVE_KEYS, liveModel } from './live.ts'
import { HELP, parseOptions, type Options } from './options.ts'
import { play } from './play.ts'
import { Terminal } from './terminal.ts'

/** After this something is wrong, ms. */
const LIMIT_MS = 120_000
const LIVE_LIMIT_MS = 300_000

const parsed = parseOptions(process.argv.slice(2))
if (parsed.type === 'help') process.stdout.write(HELP)
else if (parsed.type === 'wrong') refuse(`${parsed.message}. See --help`)
else if (parsed.options.live && !liveModel(process.env)) {
  refuse(`--live needs the key of a provider in the environment: ${LIVE_KEYS.join(', ')}. Without --live the model is scripted and needs none`)
} else {
  // What was interrupted may still wait for something.
  process.exit(await demo(parsed.options))
}

function refuse(message: string): void {
  process.stderr.write(`demo: ${message}\n`)
  process.exitCode = 2
}

async function demo(options: Options): Promise<number> {
  const terminal = new Terminal(options.json ? process.stderr : process.stdout)
  const children = new Children()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'))
  const left = Promise.withResolvers<number>()
  const leave = (why: string, code: number) => (): void => {
    terminal.print(terminal.style('bad', `${why}: the processes are ended, the folder is removed`))
    terminal.silence()
    left.resolve(code)
  }
  process.on('SIGINT', leave('interrupted', 130)).on('SIGTERM', leave('terminated', 143)).on('SIGHUP', leave('hung up', 129))
  const limit = setTimeout(leave('this takes too long', 1), options.live ? LIVE_LIMIT_MS : LIMIT_MS)
  try {
    return await Promise.race([play(options, terminal, children, folder), left.promise])
  } catch (error) {
    terminal.print(terminal.style('bad', `the demo failed: ${error instanceof Error ? error.message : String(error)}`))
    return 1
  } finally {
    clearTimeout(limit)
    await children.endAll()
    await rm(folder, { recursive: true, force: true })
  }
}
