/** The demo's child processes: each is ended by its own pid, on every way out. */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export class Children {
  readonly #closing: (() => Promise<void>)[] = []
  #isOver = false

  /** Starts a program of this folder, with a channel for messages. */
  start(file: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
    if (this.#isOver) throw new Error('the demo is over')
    const path = fileURLToPath(new URL(file, import.meta.url))
    const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { ...process.env, ...env } })
    this.add(() => kill(child))
    return child
  }

  /** Something else that has to be closed. */
  add(close: () => Promise<void>): void {
    this.#closing.push(close)
  }

  /** Ends what was started; nothing else starts. */
  async endAll(): Promise<void> {
    this.#isOver = true
    while (this.#closing.length > 0) await Promise.allSettled(this.#closing.splice(0).map((close) => close()))
  }
}

/** SIGKILL, and waits until the process is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGKILL')
  await gone
}

/** The first line that a child prints: JSON. Rejects when it ends without one. */
export function firstLine<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    createInterface(child.stdout!).once('line', (line) => resolve(JSON.parse(line) as T))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code} before it was ready`)))
  })
}
