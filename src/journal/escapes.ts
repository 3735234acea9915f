/** Texts in which escapes were read, and the digits of escapes as they stand. */

export interface Unescaped {
  readonly text: string
  /** Where in the text with its escapes a place stands. */
  readonly origin: (at: number) => number
}

/** `escape` matches one escape, `read` gives the character that it stands for, or the escape itself where it is none. Undefined: there is none in it. */
export function unescapedBy(source: string, escape: RegExp, read: (escape: string) => string): Unescaped | undefined {
  const behind: { readonly at: number; readonly shift: number }[] = []
  let shift = 0
  let isRead = false
  const text = source.replaceAll(escape, (stands: string, index: number) => {
    const char = read(stands)
    if (char === stands) return stands
    isRead = true
    if (char.length !== stands.length) behind.push({ at: index - shift + char.length, shift: (shift += stands.length - char.length) })
    return char
  })
  return isRead ? { text, origin: (at) => at + (behind[countUpTo(behind, at) - 1]?.shift ?? 0) } : undefined
}

/** How many stand at a place or before it. */
function countUpTo(places: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (places[middle]!.at <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** Which of the hexadecimal digits are capital letters, as the bits of a number: the first digit is the lowest. */
export const capitalsOf = (digits: string): number => [...digits].reduce((bits, digit, i) => bits + (/[A-F]/.test(digit) ? 2 ** i : 0), 0)

export const withCapitals = (digits: string, capitals: number): string => [...digits].map((digit, i) => (Math.floor(capitals / 2 ** i) % 2 === 1 ? digit.toUpperCase() : digit.toLowerCase())).join('')
