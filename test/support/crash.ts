/**
 * A process that dies, within one process: its store stops answering, so nothing that it still does is recorded or goes on.
 * Real kills of real processes are in the crash tests; this one is quick and exact.
 */
import { systemClock, type Clock } from '../../src/core/clock.ts'
import type { Store } from '../../src/journal/store.ts'

export interface Mortal {
  readonly store: Store
  /** From now on no call of the store returns. */
  kill(): void
  /** Dies in place of the next append whose entries match, before (default) or after it is durable. Resolves when that has happened. */
  killAt(entry: RegExp, when?: 'before' | 'after'): Promise<void>
}

const never = <T>(): Promise<T> => new Promise(() => {})

export function mortal(inner: Store): Mortal {
  let dead = false
  let trap: { entry: RegExp; when: 'before' | 'after'; sprung: () => void } | undefined
  const store = new Proxy(inner, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (dead) return never()
        const hit = trap && property === 'append' && (args[1] as { entries: { body: string }[] }).entries.some(({ body }) => trap!.entry.test(body)) ? trap : undefined
        if (hit) {
          dead = true
          if (hit.when === 'after') await (value as (...a: unknown[]) => Promise<unknown>).apply(target, args)
          hit.sprung()
          return never()
        }
        return (value as (...a: unknown[]) => Promise<unknown>).apply(target, args)
      }
    },
  })
  return {
    store,
    kill: () => {
      dead = true
    },
    killAt: (entry, when = 'before') => new Promise((sprung) => (trap = { entry, when, sprung })),
  }
}

/** The system clock, `ms` ahead: the lease of a dead process has run out there. */
export const later = (ms = 3_600_000): Clock => ({ ...systemClock, now: () => systemClock.now() + ms })
