/** What is wrong with a value, and where in it. */
import { HoldfastError } from '../errors.ts'

/** A step into a value: a property, an index, or text for what is neither (`.get("key")` of a Map). */
export type Segment = string | number | symbol | { readonly text: string }

export const keySegment = (index: number): Segment => ({ text: `.keys()[${index}]` })
/** An element of a Set, or the value of a Map, which is best known by its key. */
export const itemSegment = (index: number, key?: unknown): Segment => (
  { text: typeof key === 'string' ? `.get(${JSON.stringify(key)})` : `.values()[${index}]` })

/** Thrown inside a walk through a value; {@link guarded} adds the path. It says what the value "is" or "has". */
export class Refusal extends Error {
  readonly code: 'VALUE_NOT_STORABLE' | 'VALUE_TOO_LARGE'
  constructor(what: string, code: 'VALUE_NOT_STORABLE' | 'VALUE_TOO_LARGE' = 'VALUE_NOT_STORABLE') {
    super(what)
    this.code = code
  }
}

/** Where a walk through a value is. Overwriting a segment is all that a step costs; text is made only for an error. */
export class Place {
  /** How many segments lead to the value looked at. */
  depth = 0
  readonly #root: string
  readonly #segments: Segment[] = []

  constructor(root: string) {
    this.#root = root
  }

  /** Goes from the value at `depth` into one of its parts. */
  enter(depth: number, segment: Segment): void {
    this.#segments[depth] = segment
    this.depth = depth + 1
  }

  path(depth: number = this.depth): string {
    return this.#root + formatPath(this.#segments.slice(0, depth))
  }
}

const identifier = /^[A-Za-z_$][\w$]*$/
const [SHOWN_FIRST, SHOWN_LAST] = [12, 4]
/** Of one segment, in characters. */
const SHOWN_SEGMENT = 80

const cut = (text: string): string => (text.length > SHOWN_SEGMENT ? `${text.slice(0, SHOWN_SEGMENT)}...` : text)

/** `.items[3]["first name"]`; the middle of a very long path is left out. */
export function formatPath(segments: readonly Segment[]): string {
  const texts = segments.map((segment) => {
    if (typeof segment === 'object') return cut(segment.text)
    if (typeof segment === 'string' && identifier.test(segment)) return cut(`.${segment}`)
    return cut(`[${typeof segment === 'string' ? JSON.stringify(segment) : String(segment)}]`)
  })
  if (texts.length > SHOWN_FIRST + SHOWN_LAST) texts.splice(SHOWN_FIRST, texts.length - SHOWN_FIRST - SHOWN_LAST, ' ... ')
  return texts.join('')
}

/** Runs a walk: whatever it throws, also out of a getter of the value, becomes one HoldfastError with the path. */
export function guarded<T>(place: Place, walk: () => T): T {
  try {
    return walk()
  } catch (error) {
    if (!(error instanceof Refusal)) throw notStorable(`${place.path()} cannot be read`, error)
    throw error.code === 'VALUE_TOO_LARGE'
      ? new HoldfastError('VALUE_TOO_LARGE', `${place.path(0)} ${error.message}`, { advice: ELSEWHERE })
      : notStorable(`${place.path()} ${error.message}`)
  }
}

const ELSEWHERE = 'Keep large data elsewhere and pass a reference to it'

export function notStorable(message: string, cause?: unknown): HoldfastError {
  const advice = 'Use plain data, Date, BigInt, Map, Set, typed arrays, URL, RegExp or Error'
  return new HoldfastError('VALUE_NOT_STORABLE', message, { advice, cause })
}

/** What JavaScript throws where a text would be longer than one can be. */
export const isTooLong = (error: unknown): boolean => error instanceof RangeError && error.message === 'Invalid string length'

/** `size` undefined: more text than a string can hold. `option`: the one of createRunner that sets the limit; null: none does. */
export function tooLarge(path: string, size: number | undefined, maxBytes: number | undefined, option: string | null = 'maxResultBytes'): HoldfastError {
  const takes = size === undefined ? 'takes more bytes than a text can hold' : `takes ${size} bytes as JSON`
  const limit = maxBytes === undefined ? '' : `, the limit is ${maxBytes}`
  return new HoldfastError('VALUE_TOO_LARGE', path + ' ' + takes + limit, {
    advice: option === null ? ELSEWHERE : `${ELSEWHERE}, or raise the limit (${option} of createRunner)`,
  })
}

export function corrupt(message: string, cause?: unknown): HoldfastError {
  const advice = 'The journal was changed by something else, or written by a newer version of Holdfast; nothing was overwritten'
  return new HoldfastError('STORE_CORRUPT', message, { advice, cause })
}
