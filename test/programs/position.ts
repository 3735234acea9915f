/**
 * Where in the program something is asked for: by the oracle's own count, not by the library's. It goes along with the code as an
 * asynchronous context, so that the bodies of tools and steps, and events, can be told which call they belong to.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** A line of steps, as far as the rules about what follows a newer result go (R5). */
export class Line {
  readonly parent: Line | undefined
  /** When the newest result came about that was handed out in it, or before it was opened: a count of the world's events. */
  newest: number

  constructor(parent?: Line) {
    this.parent = parent
    this.newest = parent?.newest ?? 0
  }

  /** What was asked for side by side last came in an order that may be another one next time, and nothing was asked for since. */
  isUnordered = false

  saw(event: number): void {
    this.newest = Math.max(this.newest, event)
  }

  close(): void {
    this.parent?.saw(this.newest)
  }
}

const storage = new AsyncLocalStorage<string>()

/** Runs `fn` as a part of the call at `position`. */
export const at = <T>(position: string, fn: () => T): T => storage.run(position, fn)

/** The call that the code which runs right now belongs to. */
export const position = (): string | undefined => storage.getStore()
