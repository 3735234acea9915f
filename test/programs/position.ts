/**
 * Where in the program something is asked for: by the oracle's own count, not by the library's. It goes along with the code as an
 * asynchronous context, so that the bodies of tools and steps, and events, can be told which call they belong to.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** A line of steps, as far as the rules about what follows a live result go (R5). */
export class Line {
  readonly parent: Line | undefined
  /** A result that was not replayed was handed out in it, or before it was opened. */
  live: boolean

  constructor(parent?: Line) {
    this.parent = parent
    this.live = parent?.live ?? false
  }

  close(): void {
    if (this.live && this.parent) this.parent.live = true
  }
}

const storage = new AsyncLocalStorage<string>()

/** Runs `fn` as a part of the call at `position`. */
export const at = <T>(position: string, fn: () => T): T => storage.run(position, fn)

/** The call that the code which runs right now belongs to. */
export const position = (): string | undefined => storage.getStore()
