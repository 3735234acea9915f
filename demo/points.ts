/** Points: moments at which a process can be killed. Whoever reaches one says so to the parent and waits for its word. */

/** A child to the parent. */
export interface PointReached {
  readonly type: 'point'
  readonly id: number
  /** What is about to happen, or has just happened, in words. */
  readonly what: string
  /** The effect that has just been made. */
  readonly effect?: string
}

/** The parent to the child: it may go on. `lost`: whoever asked is dead, and its request is taken to have been lost on the way. */
export interface Go {
  readonly type: 'go'
  readonly id: number
  readonly lost: boolean
}

export type Reach = (what: string, effect?: string) => Promise<{ readonly lost: boolean }>

/** Reports points over the channel to the parent; without one, nothing is waited for. */
export function pointsOf(child: NodeJS.Process): Reach {
  const waiting = new Map<number, (go: Go) => void>()
  let last = 0
  if (!child.send) return async () => ({ lost: false })
  child.on('message', (message: Go) => {
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  return (what, effect) =>
    new Promise((resolve) => {
      const id = ++last
      waiting.set(id, resolve)
      child.send!({ type: 'point', id, what, ...(effect !== undefined && { effect }) } satisfies PointReached)
    })
}
