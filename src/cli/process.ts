/** The command line in its own process: standard streams, signals, exit code. */
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { systemClock } from '../core/clock.ts'
import { reportError } from './error-report.ts'
import { EXIT } from './exit-code.ts'
import type { Io, Output, Signal } from './io.ts'
import { main } from './main.ts'
import { silenceSqliteWarning } from './sqlite-warning.ts'

const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM']

/** Runs what the arguments say and ends the process: what a run left open (sockets, timers of its agents) must not keep it alive. */
export async function runProcess(): Promise<void> {
  silenceSqliteWarning(process)
  // The reader may go away (`holdfast list | head`), which is no reason to end a run.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
  const argv = process.argv.slice(2)
  const io = processIo()
  // An error that an agent's code lets go of ends the process, as ever; its run is interrupted, and goes on with resume.
  process.on('uncaughtException', (error) => {
    reportError(error, EXIT.failed, argv.includes('--json'), io)
    process.exit(EXIT.failed)
  })
  const code = await main(argv, io)
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit(code)
}

function processIo(): Io {
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    now: () => systemClock.now(),
    readStdin: () => text(process.stdin),
    onSignal(listener) {
      for (const signal of SIGNALS) process.on(signal, listener)
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener)
      }
    },
    exit: (code) => process.exit(code),
  }
}

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  write: (text) => void stream.write(text),
  isTTY: stream.isTTY === true,
  columns: stream.columns,
})

async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableNeedDrain && stream.writable) await Promise.race([once(stream, 'drain'), once(stream, 'close')])
}
