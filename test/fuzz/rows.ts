/** Damage to the rows of a journal, of which the checksums know nothing: whatever it is, it has to be found. */
import type { StoredEntry } from '../../src/journal/store.ts'
import type { Pick } from './pick.ts'

type Rows = readonly StoredEntry[]

const flipped = (text: string, pick: Pick): string => {
  if (text === '') return 'x'
  const at = pick.below(text.length)
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << pick.below(pick.chance(0.9) ? 7 : 16))) + text.slice(at + 1)
}

const FOREIGN = ['', '{}', 'null', '[]', '0', 'hello', '{"type":"run-created"}', '{"type":"note","at":1}', '\u0000', '\ud800', 'SQLite format 3', '{"__proto__":{"type":"config"}}']

/** By name, so that a report says what was done. */
const DAMAGES: Readonly<Record<string, (rows: Rows, pick: Pick, others: Rows) => StoredEntry[]>> = {
  'bit in a body': (rows, pick) => at(rows, pick, (row) => ({ ...row, body: flipped(row.body, pick) })),
  'bit in a checksum': (rows, pick) => at(rows, pick, (row) => ({ ...row, sum: flipped(row.sum, pick) })),
  'cut body': (rows, pick) => at(rows, pick, (row) => ({ ...row, body: row.body.slice(0, pick.below(row.body.length)) })),
  'cut checksum': (rows, pick) => at(rows, pick, (row) => ({ ...row, sum: row.sum.slice(0, pick.below(row.sum.length)) })),
  'text inside a body': (rows, pick) => at(rows, pick, (row) => {
    const where = pick.below(row.body.length + 1)
    return { ...row, body: row.body.slice(0, where) + pick.of([' ', '\n', ',', '"', '{', '\\', '\u0000', 'x']) + row.body.slice(where) }
  }),
  'foreign body': (rows, pick) => at(rows, pick, (row) => ({ ...row, body: pick.of(FOREIGN) })),
  'body of another journal': (rows, pick, others) => at(rows, pick, (row) => ({ ...row, body: pick.of(others).body })),
  'row of another journal': (rows, pick, others) => at(rows, pick, (row) => ({ ...pick.of(others), seq: row.seq })),
  'bodies swapped': (rows, pick) => {
    const [a, b] = [pick.of(rows), pick.of(rows)]
    return rows.map((row) => (row === a ? { ...row, body: b.body } : row === b ? { ...row, body: a.body } : row))
  },
  'rows swapped': (rows, pick) => {
    const [a, b] = [pick.of(rows), pick.of(rows)]
    return rows.map((row) => (row === a ? b : row === b ? a : row))
  },
  'rows swapped and numbered anew': (rows, pick) => {
    const [a, b] = [pick.of(rows), pick.of(rows)]
    return rows.map((row) => (row === a ? b : row === b ? a : row)).map((row, i) => ({ ...row, seq: i + 1 }))
  },
  'row twice': (rows, pick) => rows.toSpliced(pick.below(rows.length), 0, pick.of(rows)),
  'row twice, numbered anew': (rows, pick) => rows.toSpliced(pick.below(rows.length), 0, pick.of(rows)).map((row, i) => ({ ...row, seq: i + 1 })),
  'row gone': (rows, pick) => rows.toSpliced(pick.below(rows.length), 1),
  'row gone, numbered anew': (rows, pick) => rows.toSpliced(pick.below(rows.length), 1).map((row, i) => ({ ...row, seq: i + 1 })),
  'end gone': (rows, pick) => rows.slice(0, pick.below(rows.length)),
  'beginning gone': (rows, pick) => rows.slice(1 + pick.below(rows.length)),
  'beginning of another journal': (rows, pick, others) => [...others.slice(0, pick.below(rows.length)), ...rows].slice(0, rows.length).map((row, i) => ({ ...row, seq: i + 1 })),
  'another journal': (rows, _pick, others) => others.slice(0, rows.length),
  'wrong number': (rows, pick) => at(rows, pick, (row) => ({ ...row, seq: pick.of([0, -1, 1, row.seq + 1, row.seq - 1, 1.5, NaN, 2 ** 53]) })),
  'any order': (rows, pick) => rows.map((row) => [pick.below(1e9), row] as const).sort(([a], [b]) => a - b).map(([, row]) => row),
  'nothing': (rows) => [...rows],
}

function at(rows: Rows, pick: Pick, change: (row: StoredEntry) => StoredEntry): StoredEntry[] {
  const where = pick.below(rows.length)
  return rows.map((row, i) => (i === where ? change(row) : row))
}

export interface Damaged {
  readonly what: string
  readonly rows: StoredEntry[]
}

export function damageRows(rows: Rows, others: Rows, pick: Pick): Damaged {
  let damaged: StoredEntry[] = [...rows]
  const names: string[] = []
  for (let times = pick.chance(0.8) ? 1 : 2 + pick.below(3); times > 0 && damaged.length > 0; times--) {
    const name = pick.of(Object.keys(DAMAGES))
    names.push(name)
    damaged = DAMAGES[name]!(damaged, pick, others)
  }
  return { what: names.join(', '), rows: damaged }
}
