/** Whether a place in a text stands in a URL: what is put there has to be written so that it stays one. */
import { DEEPEST } from './secret-forms.ts'
import { unescaped } from './json-escapes.ts'
import { unescapedUri } from './uri-escapes.ts'

const END = /[\s"<>]/
const OF_SCHEME = /[a-z\d+.-]/i
const LETTER = /[a-z]/i
/** A part of a URL begins behind one. */
const DELIMITERS = /[/?#&=]/
/** Longer ones are read this far, on either side of the place. */
const LONGEST = 4_096

/**
 * In how many URLs, each in a part of the one around it, what stands from `start` up to `end` is: 0, in none. One begins with its scheme and `//`, and goes up to the
 * next space, quote or angle bracket.
 *
 * @param depth In how many JSON texts that is.
 */
export function urlsAround(text: string, start: number, end: number, depth: number): number {
  // Most texts hold none, and may hold many places.
  if (!text.slice(Math.max(0, start - LONGEST), start).includes(':')) return 0
  let first = start
  while (first > 0 && start - first < LONGEST && !END.test(text[first - 1]!)) first--
  const read = (part: string): string => Array.from({ length: depth }).reduce((inner: string) => unescaped(inner)?.text ?? inner, part)
  const before = read(text.slice(first, start)).split(END).at(-1)!
  return schemeIn(before) !== undefined ? urlsIn(before, read(text.slice(start, end)) + read(text.slice(end, end + LONGEST).split(END, 1)[0]!).split(END, 1)[0]!) : 0
}

function urlsIn(before: string, behind: string): number {
  const begins = schemeIn(before)
  if (begins === undefined || !URL.canParse(before.slice(begins) + behind)) return 0
  const part = unescapedUri(before.split(DELIMITERS).at(-1)!)
  return Math.min(DEEPEST.uri, 1 + (part ? urlsIn(part.text, '') : 0))
}

/** Where the first scheme begins that has `://` behind it. From there backwards, in one pass: a text may be long, and hold many places to look at. */
function schemeIn(text: string): number | undefined {
  for (let end = text.indexOf('://'); end !== -1; end = text.indexOf('://', end + 1)) {
    let begins: number | undefined
    for (let at = end - 1; at >= 0 && OF_SCHEME.test(text[at]!); at--) if (LETTER.test(text[at]!)) begins = at
    if (begins !== undefined) return begins
  }
  return undefined
}
