/** Plain tables: aligned columns, two spaces apart. */
import { cut, printable, widthOf } from './printable.ts'
import type { Paint, Style } from './style.ts'

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** May be cut where the terminal is too narrow, and where. Others never are. */
  readonly cut?: 'end' | 'middle'
}

export type Cell = string | { readonly text: string; readonly style: Style | undefined }

/** Narrower than this no column is cut. */
const LEAST = 8
const GAP = '  '

/** The lines of a table. `width`: columns of the terminal; undefined: as wide as it gets, nothing is cut. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], { width, paint }: { width: number | undefined; paint: Paint }): string[] {
  const texts = rows.map((row) => row.map((cell) => printable(typeof cell === 'string' ? cell : cell.text)))
  const widths = fit(columns, columns.map((column, i) => Math.max(widthOf(column.title), ...texts.map((row) => widthOf(row[i]!)))), width)
  const line = (cells: readonly string[], styleOf: (i: number) => Style | undefined): string =>
    cells.map((text, i) => {
      const { align, cut: at } = columns[i]!
      const shown = at ? cut(text, widths[i]!, at) : text
      const space = ' '.repeat(Math.max(0, widths[i]! - widthOf(shown)))
      return align === 'right' ? space + paint(styleOf(i), shown) : paint(styleOf(i), shown) + space
    }).join(GAP).trimEnd()
  return [
    line(columns.map(({ title }) => title), () => 'dim'),
    ...texts.map((cells, r) => line(cells, (i) => {
      const cell = rows[r]![i]!
      return typeof cell === 'string' ? undefined : cell.style
    })),
  ]
}

/** Takes what is too much from the widest columns that may be cut. */
function fit(columns: readonly Column[], widths: readonly number[], width: number | undefined): number[] {
  const fitted = [...widths]
  if (width === undefined) return fitted
  let excess = fitted.reduce((sum, w) => sum + w, 0) + GAP.length * (columns.length - 1) - width
  for (; excess > 0; excess--) {
    let widest: number | undefined
    for (const [i, column] of columns.entries()) if (column.cut && (widest === undefined || fitted[i]! > fitted[widest]!)) widest = i
    if (widest === undefined || fitted[widest]! <= LEAST) break
    fitted[widest]!--
  }
  return fitted
}
