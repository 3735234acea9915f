/** What is in a list with holes: its length says nothing about that, it may be billions around one item. */

/** The places of a list at which something stands, in order. Takes time by what is there. */
export function* placesIn(list: readonly unknown[]): Generator<number> {
  let to = 0
  for (; to < list.length && Object.hasOwn(list, to); to++) yield to
  if (to >= list.length) return
  for (const key of Object.keys(list)) {
    // Names besides come last.
    if (!isPlace(key)) return
    if (Number(key) > to) yield Number(key)
  }
}

/** Whether the name of a property is that of a place in a list. */
export const isPlace = (key: string): boolean => String(Number(key) >>> 0) === key && key !== '4294967295'

/** What stands in a list, without its holes. */
export const itemsIn = (list: readonly unknown[]): unknown[] => Array.from(placesIn(list), (place) => list[place])
