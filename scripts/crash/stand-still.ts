/** A process that says where it is and then does nothing more, not even what it had begun beside that: it waits for its SIGKILL. */
import type { WorkerMessage } from './protocol.ts'

/** Without anybody to kill it, it ends by itself, ms. */
const LONGEST_MS = 20_000

export function standStill(where: string): never {
  process.send?.({ type: 'stopped', where } satisfies WorkerMessage)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LONGEST_MS)
  process.exit(3)
}
