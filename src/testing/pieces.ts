/** Cutting text into deltas. */

/** Pieces of `size` characters; no piece splits a surrogate pair. */
export function pieces(text: string, size: number): string[] {
  const characters = [...text]
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) => characters.slice(index * size, (index + 1) * size).join(''))
}
