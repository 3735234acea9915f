/** Whether the values of an entry can be had, which reading a journal leaves to who uses them. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import { decode } from './codec.ts'
import type { Entry } from './entry.ts'
import { entryFault } from './schema.ts'
import { legible } from './secrets.ts'

/** What is wrong with the first value that cannot be decoded; undefined: nothing. */
export function valueFault(entry: Entry): string | undefined {
  return entryFault(legible(entry), (value, path) => {
    try {
      decode(value, path)
      return undefined
    } catch (error) {
      return HoldfastError.isInstance(error) ? withoutAdvice(error) : String(error)
    }
  })
}
