/** Changes to plain data, as a program could make them that knows what it does: other types, missing parts, deep nesting, odd keys. */
import type { Pick } from './pick.ts'

const deep = (levels: number, list: boolean): unknown => JSON.parse(list ? `${'['.repeat(levels)}${']'.repeat(levels)}` : `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`)

/** Made when it is asked for: some are large. */
const ODD: readonly (() => unknown)[] = [
  () => null, () => true, () => 0, () => -1, () => -2, () => -7, () => 1.5, () => 1e308, () => 2 ** 53, () => '', () => 'x'.repeat(10_000), () => '\u0000\ud800', () => [], () => ({}),
  () => deep(400, true), () => deep(600, true), () => '@deep',
  () => JSON.parse('{"__proto__":{"type":"config"},"constructor":1,"toString":2}') as unknown,
  () => ({ json: 1 }), () => ({ json: 1, devalue: 1 }), () => ({ yaml: 1 }), () => ({ devalue: -1 }), () => ({ devalue: 7 }), () => ({ devalue: [] }), () => ({ devalue: [[0]] }),
  () => ({ devalue: [{ a: 1 }, ['Map', 0]] }), () => ({ devalue: [['Map', 1], 'key without value'] }), () => ({ devalue: [['Date', 'never']] }), () => ({ devalue: [['BigInt', 'x']] }),
  () => ({ devalue: [['RegExp', '(', 'zz']] }), () => ({ devalue: [['URL', ':']] }), () => ({ devalue: [['ArrayBuffer', '%']] }), () => ({ devalue: [['Uint16Array', 1], ['ArrayBuffer', 'AA==']] }),
  () => ({ devalue: [['Uint8Array', 1], 7] }), () => ({ devalue: [['Error', 1], { name: 2, message: 2 }, 'x'] }), () => ({ devalue: [['Error', 1], 7] }), () => ({ devalue: [['Entries', 1], [2], 7] }),
  () => ({ devalue: [['Entries', 1], [2], [3, 3], '__proto__'] }), () => ({ devalue: [['Object', 1], 7] }), () => ({ devalue: [['null', 'a', 1], 7] }), () => ({ devalue: [['Money', 1], 7] }),
  () => ({ devalue: [[-7, 5, 9, 1], 'index beyond the length'] }), () => ({ devalue: [[-7, -1]] }), () => ({ devalue: [[-7, 3, '0', 1], 1] }), () => ({ devalue: [[-7, 2 ** 31]] }),
  () => ({ devalue: Array.from({ length: 3_000 }, (_, i) => [i + 1, i + 1]).with(-1, ['leaf'] as never) }), () => ({ devalue: [{ ['__proto__']: 1 }, 2] }),
]
const TEXTS = ['run-created', 'attempt-started', 'step-ended', 'superseded', 'value', 'error', 'unknown', 'model', 'tool', '0', '0~1', '1', '0/c:call_1', 'b:eu#0', 's:charge:17#0', '~', '/', '0~x', 'a~-1/b', '__proto__', 'toString']

/** As JSON text. Deeper than `JSON.stringify` goes is written for `@deep`. */
export const textOf = (data: unknown): string => (JSON.stringify(data) ?? '').replaceAll('"@deep"', () => `${'['.repeat(50_000)}${']'.repeat(50_000)}`)

/** One place of it changed. Everything else is the same data. */
export function change(value: unknown, pick: Pick): unknown {
  if (typeof value !== 'object' || value === null || pick.chance(0.15)) return changeHere(value, pick)
  const keys = Object.keys(value)
  if (keys.length === 0) return changeHere(value, pick)
  const key = pick.of(keys)
  if (Array.isArray(value)) {
    const index = Number(key)
    if (pick.chance(0.1)) return pick.of([value.toSpliced(index, 1), value.toSpliced(index, 0, pick.of(value)), value.toReversed(), [...value, ...value]])
    return value.with(index, change(value[index], pick))
  }
  const entries = Object.entries(value)
  if (pick.chance(0.15)) return fromEntries(entries.filter(([name]) => name !== key))
  if (pick.chance(0.1)) return fromEntries([...entries, [pick.of(['__proto__', 'constructor', 'type', 'secrets', 'format', 'json', 'note']), pick.of(ODD)()]])
  return fromEntries(entries.map(([name, item]) => [name, name === key ? change(item, pick) : item]))
}

function changeHere(value: unknown, pick: Pick): unknown {
  if (typeof value === 'string' && pick.chance(0.6)) return pick.chance(0.5) ? pick.of(TEXTS) : value.slice(0, pick.below(value.length + 1))
  if (typeof value === 'number' && pick.chance(0.6)) return value + pick.of([1, -1, 0.5, 1e6, -1e6])
  return pick.of(ODD)()
}

/** `Object.fromEntries` makes own properties of all keys, `__proto__` as well. */
const fromEntries = (entries: readonly (readonly [string, unknown])[]): unknown => Object.fromEntries(entries)
