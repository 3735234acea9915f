/** One byte of a row, or of an entry of an index, is wrong, as on a disk that lies. */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const PAGE = 4096

/** What leads to a row: its number in the table, and where that and its columns stand in the file. */
interface Found {
  readonly number: number
  readonly at: number
  readonly columns: readonly number[]
}

/** Writes `to` where `column` of the row with that number begins, or (`number`) where that number itself does. The file must be closed. `of`: a table or an index. */
export function changeByte(file: string, of: string, number: number, column: number | 'number', to: number): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { root } = database.prepare('SELECT rootpage AS root FROM sqlite_schema WHERE name = ?').get(of) as { root: number }
  database.close()
  const bytes = readFileSync(file)
  const row = rowsOf(bytes, root).find((each) => each.number === number)
  if (!row) throw new Error(`${of} has no row ${number}`)
  bytes[column === 'number' ? row.at : row.columns[column]!] = to
  writeFileSync(file, bytes)
}

function rowsOf(bytes: Buffer, page: number): Found[] {
  const begin = (page - 1) * PAGE
  const [type, count] = [bytes[begin]!, bytes.readUInt16BE(begin + 3)]
  const cells = (header: number): number[] => Array.from({ length: count }, (_, i) => begin + bytes.readUInt16BE(begin + header + 2 * i))
  // Types 5 and 13 are of a table, 10 is the leaf of an index; one of more pages is none of a test.
  if (type === 5) return [...cells(12).map((at) => bytes.readUInt32BE(at)), bytes.readUInt32BE(begin + 8)].flatMap((child) => rowsOf(bytes, child))
  return cells(8).map((cell) => (type === 13 ? rowAt(bytes, cell) : entryAt(bytes, cell)))
}

function rowAt(bytes: Buffer, cell: number): Found {
  const at = varint(bytes, cell).end
  const { value, end } = varint(bytes, at)
  return { number: value, at, columns: columnsAt(bytes, end).map((column) => column.at) }
}

/** The number of its row stands behind what the index is over. */
function entryAt(bytes: Buffer, cell: number): Found {
  const columns = columnsAt(bytes, varint(bytes, cell).end)
  const { at, type, length } = columns.at(-1)!
  return { number: length === 0 ? type - 8 : bytes.readIntBE(at, length), at, columns: columns.map((column) => column.at) }
}

function columnsAt(bytes: Buffer, record: number): { at: number; type: number; length: number }[] {
  const header = varint(bytes, record)
  const columns = []
  let column = record + header.value
  for (let at = header.end; at < record + header.value;) {
    const { value: type, end } = varint(bytes, at)
    const length = type >= 12 ? Math.floor((type - 12) / 2) : [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type]!
    columns.push({ at: column, type, length })
    column += length
    at = end
  }
  return columns
}

function varint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let value = 0
  for (let end = at; ;) {
    const byte = bytes[end++]!
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value, end }
  }
}
