/** The model server in a child process, for tests that kill what is around it. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HoldfastError } from '../errors.ts'
import type { RecordedRequest } from './answering.ts'
import type { Conversation } from './conversation.ts'
import type { FaultPlan } from './faults.ts'
import { parseFaultPlan } from './fault-plan.ts'
import { parseScripts } from './script.ts'

export interface ModelServerProcessOptions {
  /** Plain data only: a function cannot travel to another process. */
  readonly conversations: readonly Conversation[]
  readonly faults?: FaultPlan
  /** Default: 0, a free port. */
  readonly port?: number
}

export interface ModelServerProcess {
  /** The base URL for a client, `/v1` included. */
  readonly url: string
  readonly pid: number
  /** Every request so far, as `ModelServer.requests`. */
  requests(): Promise<readonly RecordedRequest[]>
  /** Replaces the plan; the counts of tries go on. */
  setFaults(faults: FaultPlan): Promise<void>
  /** Ends the process and waits for its end. */
  close(): Promise<void>
}

/**
 * Starts a model server in a process of its own.
 *
 * @throws HoldfastError `INVALID_OPTIONS`, with the path of what is wrong or what the process said.
 */
export async function startModelServerProcess(options: ModelServerProcessOptions): Promise<ModelServerProcess> {
  const { conversations, faults = [], port = 0 } = options
  const script = JSON.stringify({ conversations: parseScripts(conversations), faults: parseFaultPlan(faults) })
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const main = fileURLToPath(new URL(`./model-server-main.${extension}`, import.meta.url))
  const child = spawn(process.execPath, [main, '--script', '-', '--port', String(port)], {
    // The ipc channel tells it when this process is gone, however it ended.
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  })
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  let complaint = ''
  child.stderr!.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  // A child that refuses its options is gone before it has read them all.
  child.stdin!.on('error', () => undefined).end(script)

  const ready = new Promise<{ url: string; pid: number }>((done) => {
    createInterface(child.stdout!).once('line', (line) => done(JSON.parse(line) as { url: string; pid: number }))
  })
  const started = await Promise.race([ready, ended])
  if (!started) throw new HoldfastError('INVALID_OPTIONS', `the model server did not start: ${complaint.trim()}`)
  const control = new URL('/', started.url)
  return {
    ...started,
    async requests() {
      const response = await fetch(new URL('__requests', control))
      return (await response.json()) as readonly RecordedRequest[]
    },
    async setFaults(plan) {
      await fetch(new URL('__faults', control), { method: 'POST', body: JSON.stringify(parseFaultPlan(plan)) })
    },
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
