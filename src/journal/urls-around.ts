/** Whether a place in a text stands in a URL: what is put there has to be written so that it stays one. */
import { DEEPEST } from './secret-forms.ts'
import { unescaped } from './json-escapes.ts'
import { unescapedUri } from './uri-escapes.ts'

const END = /[\s"<>]/
const SCHEME = /[a-z][a-z\d+.-]*:\/\//i
/** A part of a URL begins behind one. */
const DELIMITERS = /[/?#&=]/
/** No server takes longer ones. */
const LONGEST = 16_384

/**
 * In how many URLs, each in a part of the one around it, what stands from `start` up to `end` is: 0, in none. One begins with its scheme and `//`, and goes up to the
 * next space, quote or angle bracket.
 *
 * @param depth In how many JSON texts that is.
 */
export function urlsAround(text: string, start: number, end: number, depth: number): number {
  let first = start
  while (first > 0 && start - first < LONGEST && !END.test(text[first - 1]!)) first--
  const read = (part: string): string => Array.from({ length: depth }).reduce((inner: string) => unescaped(inner)?.text ?? inner, part)
  const before = read(text.slice(first, start)).split(END).at(-1)!
  return SCHEME.test(before) ? urlsIn(before, read(text.slice(start, end)) + read(text.slice(end, end + LONGEST).split(END, 1)[0]!).split(END, 1)[0]!) : 0
}

function urlsIn(before: string, behind: string): number {
  const begins = SCHEME.exec(before)?.index
  if (begins === undefined || !URL.canParse(before.slice(begins) + behind)) return 0
  const part = unescapedUri(before.split(DELIMITERS).at(-1)!)
  return Math.min(DEEPEST.uri, 1 + (part ? urlsIn(part.text, '') : 0))
}
