/** Texts in the columns of a terminal. */
export { oneLine, printable, printableLines } from '../core/printable.ts'

const segmenter = new Intl.Segmenter()
const WIDE = /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

/** How many columns a printable text takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** Cut to `width` columns, with `…` where something is missing. */
export function cut(text: string, width: number, at: 'end' | 'middle' = 'end'): string {
  if (widthOf(text) <= width) return text
  const parts = [...segmenter.segment(text)].map(({ segment }) => segment)
  const tail = at === 'end' ? [] : take(parts.toReversed(), Math.floor((width - 1) / 2)).toReversed()
  const head = take(parts, width - 1 - widthOf(tail.join('')))
  return `${head.join('')}…${tail.join('')}`
}

function take(parts: readonly string[], width: number): string[] {
  const taken: string[] = []
  let used = 0
  for (const part of parts) {
    used += widthOf(part)
    if (used > width) break
    taken.push(part)
  }
  return taken
}
