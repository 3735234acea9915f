/**
 * The model server as a process of its own: `node model-server-main.js --script file.json [--script more.json] [--port 0]`.
 * `--script -` reads stdin. Prints one line of JSON with `url` and `pid` when it is ready; ends on SIGTERM and SIGINT.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { HoldfastError } from '../errors.ts'
import { parseScriptFile } from './script-file.ts'
import { startModelServer } from './server.ts'

try {
  const { values } = parseArgs({ options: { script: { type: 'string', multiple: true }, port: { type: 'string', default: '0' } } })
  if (!values.script) throw new HoldfastError('INVALID_OPTIONS', '--script is missing: the path of a JSON file, or - for stdin')
  const files = await Promise.all(values.script.map(readScript))
  const server = await startModelServer({
    conversations: files.flatMap((file) => file.conversations),
    faults: files.flatMap((file) => file.faults),
    port: Number(values.port),
  })
  // An open ipc channel would keep the process alive after its server.
  const end = (): void => void server.close().then(hangUp)
  for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, end)
  process.stdout.write(`${JSON.stringify({ url: server.url, pid: process.pid })}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
  hangUp()
}

function hangUp(): void {
  if (process.connected) process.disconnect()
}

async function readScript(path: string): Promise<ReturnType<typeof parseScriptFile>> {
  const content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  try {
    return parseScriptFile(JSON.parse(content))
  } catch (error) {
    throw new HoldfastError('INVALID_OPTIONS', `${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
