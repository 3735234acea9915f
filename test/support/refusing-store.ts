/** A store that refuses the records whose text matches, as a full disk would. */
import { HoldfastError } from '../../src/errors.ts'
import type { Store } from '../../src/journal/store.ts'

export interface Refusing {
  readonly store: Store
  /** Undefined: it takes everything again. */
  refuse: RegExp | undefined
  /** How many commits it refused. */
  refused: number
}

export function refusing(inner: Store, refuse: RegExp): Refusing {
  const state: Refusing = {
    refuse,
    refused: 0,
    store: new Proxy(inner, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          const { entries } = property === 'append' ? (args[1] as { entries: { body: string }[] }) : { entries: [] }
          if (state.refuse && entries.some(({ body }) => state.refuse!.test(body))) {
            state.refused++
            throw new HoldfastError('STORE_UNAVAILABLE', 'no space left on device')
          }
          return (value as (...a: unknown[]) => unknown).apply(target, args)
        }
      },
    }),
  }
  return state
}
