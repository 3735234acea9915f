/** One bit of an index or a table is wrong, as on a disk that lies: SQLite reads it as one that has lost its last row. */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** The file must be closed, and the index be small enough for one page. */
export function damageIndex(file: string, index: string): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { rootpage } = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(index) as { rootpage: number }
  const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number }
  database.close()
  const bytes = readFileSync(file)
  const page = (rootpage - 1) * size
  // Types 10 and 13 are leaves, of an index and of a table; after it the number of their cells.
  const cells = bytes.readUInt16BE(page + 3)
  if ((bytes[page] !== 10 && bytes[page] !== 13) || cells % 2 !== 1) throw new Error(`index ${index} has ${cells} cells on a page of type ${bytes[page]}: one bit would not lose the last one`)
  bytes.writeUInt16BE(cells ^ 1, page + 3)
  writeFileSync(file, bytes)
}
