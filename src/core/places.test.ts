import { expect, it } from 'vitest'
import { itemsIn, placesIn } from './places.ts'

const holed = (...items: readonly (readonly [at: number, item: unknown])[]): unknown[] => {
  const list: unknown[] = []
  for (const [at, item] of items) list[at] = item
  return list
}

it.each<[string, unknown[], number[]]>([
  ['nothing', [], []],
  ['no hole', ['a', undefined, 'c'], [0, 1, 2]],
  ['a hole', holed([0, 'a'], [1, undefined], [3, 'd'], [4, 'e']), [0, 1, 3, 4]],
  ['a hole at its beginning', holed([2, 'c']), [2]],
  ['holes at its end', Object.assign(['a'], { length: 2 ** 32 - 1 }), [0]],
  ['billions of holes', holed([3, 'a'], [2 ** 32 - 2, 'b']), [3, 2 ** 32 - 2]],
  ['nothing but holes', Object.assign([] as unknown[], { length: 2 ** 32 - 1 }), []],
  ['names besides', Object.assign(holed([1, 'b']), { 'name': 1, '-1': 1, '4294967295': 1, '01': 1 }), [1]],
])('the places of a list with %s', (_, list, places) => {
  expect([...placesIn(list)]).toEqual(places)
  expect(itemsIn(list)).toEqual(places.map((place) => list[place]))
})
