/** A signal closes the runner, so that running steps may end and no run is lost; a second one ends the process. */
import type { Runner } from '../runner/runner.ts'
import { EXIT } from './exit-code.ts'
import type { Io, Signal } from './io.ts'

export interface Stop {
  /** The one that was received. */
  readonly signal: Signal | undefined
  /** Resolves when one is. */
  readonly received: Promise<void>
  /** From now on signals do what they always do. */
  ignore(): void
}

export function closeOnSignal(runner: Runner, io: Io, { tell }: { readonly tell: boolean }): Stop {
  let signal: Signal | undefined
  const received = Promise.withResolvers<void>()
  const ignore = io.onSignal((sent) => {
    if (signal !== undefined) return io.exit(EXIT[sent])
    signal = sent
    if (tell) io.err.write(`${sent}: stops when running steps have ended; once more stops at once\n`)
    void runner.close().catch(() => {})
    received.resolve()
  })
  return {
    get signal() {
      return signal
    },
    received: received.promise,
    ignore,
  }
}
