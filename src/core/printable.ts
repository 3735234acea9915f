/** Stored texts as a terminal may show them: what it would act upon (escape sequences, direction marks) is written out. */

// Control characters, lone surrogates, marks that change the direction of text, line separators.
const ACTIVE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

const written = (char: string): string => (char === '\n' ? '\\n' : char === '\t' ? '\\t' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** On one line. */
export const printable = (text: string): string => text.replace(ACTIVE, written)

/** As `printable`, but line breaks and tabs stay. Of JSON text it makes the same JSON. */
export const printableLines = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(ACTIVE, (char) => (char === '\n' || char === '\t' ? char : written(char)))

/** On one line, each run of white space a space. */
export const oneLine = (text: string): string => printable(text.replace(/\s+/g, ' ').trim())
