/** How long the other side asks to wait. The most exact source wins; it may stand in any layer. */
import { DURATION, parseDate, parseDuration, parseNumber, sumDurations } from './duration.ts'
import type { Facts } from './facts.ts'
import type { HeaderMap } from './headers.ts'
import { read } from './layers.ts'

export interface Hint {
  /** Whole ms. */
  readonly ms: number
  /** Such as `header:retry-after`. */
  readonly source: string
}

/** Longer delays overflow a timer, which would fire at once. */
const MAX_MS = 2 ** 31 - 1

type Source = (facts: Facts, now: number) => Hint | undefined

/** In order: the first that gives a usable hint in any layer. */
const SOURCES: readonly Source[] = [retryAfterMs, retryAfter, retryInfo, exhaustedBuckets, lonelyReset, sentence]

/** The hint of an error whose layers say `facts`, outside in; undefined when there is none that can be used. `now`: ms since the epoch. */
export function hintOf(facts: readonly Facts[], now: number): Hint | undefined {
  for (const source of SOURCES) {
    for (const each of facts) {
      const hint = source(each, now)
      if (hint !== undefined) return hint
    }
  }
  return undefined
}

function retryAfterMs(facts: Facts): Hint | undefined {
  for (const headers of facts.headers) {
    for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
      const hint = usable(parseNumber(headers.get(name) ?? ''), `header:${name}`)
      if (hint !== undefined) return hint
    }
  }
  return ownNumber(facts, ['retryAfterMs', 'retry_after_ms', 'retryAfterInMs', 'timeToReset'], 1)
}

function retryAfter(facts: Facts, now: number): Hint | undefined {
  for (const headers of facts.headers) {
    const text = headers.get('retry-after')
    if (text === undefined) continue
    const seconds = parseNumber(text)
    const hint = usable(seconds === undefined ? until(parseDate(text), headers, now) : seconds * 1_000, 'header:retry-after')
    if (hint !== undefined) return hint
  }
  for (const object of facts.objects) {
    const value = read(object, 'retryAfter')
    const date = value instanceof Date ? value.getTime() : typeof value === 'string' ? parseDate(value) : undefined
    const hint = date === undefined ? undefined : usable(date - now, 'property:retryAfter')
    if (hint !== undefined) return hint
  }
  return ownNumber(facts, ['retryAfter', 'retry_after', 'retryAfterSeconds', 'retry_after_seconds'], 1_000)
}

/** A field of the error or of the body, in units of `unit` ms. */
function ownNumber(facts: Facts, keys: readonly string[], unit: number): Hint | undefined {
  for (const object of facts.objects) {
    for (const key of keys) {
      const value = read(object, key)
      const number = typeof value === 'string' ? parseNumber(value.trim()) : value
      const hint = typeof number === 'number' ? usable(number * unit, `property:${key}`) : undefined
      if (hint !== undefined) return hint
    }
  }
  return undefined
}

/** Google's RetryInfo: `"45.837906927s"`, or seconds and nanos. */
function retryInfo(facts: Facts): Hint | undefined {
  for (const object of facts.objects) {
    const delay = read(object, 'retryDelay')
    const ms = typeof delay === 'string'
      ? parseDuration(delay)
      : delay === undefined ? undefined : Number(read(delay, 'seconds') ?? 0) * 1_000 + Number(read(delay, 'nanos') ?? 0) / 1e6
    const hint = usable(ms, 'RetryInfo')
    if (hint !== undefined) return hint
  }
  return undefined
}

/** Rate-limit headers, of which there is one pair for each bucket: only those that are exhausted count, and of them the latest reset. */
function exhaustedBuckets(facts: Facts, now: number): Hint | undefined {
  let latest: Hint | undefined
  for (const headers of facts.headers) {
    for (const [name, value] of headers) {
      if (!isReset(name)) continue
      const remaining = headers.get(name.replace('reset', 'remaining'))
      const status = headers.get(name.replace('reset', 'status'))
      // -1 is Azure's "no information"
      if (!(remaining !== undefined && parseNumber(remaining) === 0) && !(status !== undefined && /^(?:rejected|exceeded|exhausted)$/i.test(status))) continue
      const hint = usable(resetIn(value, headers, now), `header:${name}`)
      if (hint !== undefined && (latest === undefined || hint.ms > latest.ms)) latest = hint
    }
  }
  return latest
}

/** A reset of nothing in particular, without a count beside it. */
function lonelyReset(facts: Facts, now: number): Hint | undefined {
  for (const headers of facts.headers) {
    for (const name of ['x-ratelimit-reset', 'ratelimit-reset', 'x-rate-limit-reset', 'anthropic-ratelimit-unified-reset']) {
      const value = headers.get(name)
      if (value === undefined || headers.has(name.replace('reset', 'remaining')) || headers.has(name.replace('reset', 'status'))) continue
      const hint = usable(resetIn(value, headers, now), `header:${name}`)
      if (hint !== undefined) return hint
    }
  }
  return undefined
}

const isReset = (name: string): boolean => /rate-?limit/.test(name) && /(?:^|-)reset(?:-|$)/.test(name)

/** A reset is a duration, a date, an epoch in seconds or in ms, or seconds from now: which one, its size tells. */
function resetIn(text: string, headers: HeaderMap, now: number): number | undefined {
  const number = parseNumber(text)
  if (number === undefined) return parseDuration(text) ?? until(parseDate(text), headers, now)
  if (number >= 1e12) return until(number, headers, now)
  return number >= 1e9 ? until(number * 1_000, headers, now) : number * 1_000
}

/** From the server's own clock where it says what time it is: ours may be wrong. */
function until(date: number | undefined, headers: HeaderMap, now: number): number | undefined {
  return date === undefined ? undefined : date - (parseDate(headers.get('date') ?? '') ?? now)
}

const DURATIONS = `${DURATION.source}(?:\\s?(?:,|and)?\\s?${DURATION.source})*`
const SENTENCE = new RegExp(`\\b(?:try again|retry|retry(?:ing)? your request|wait|available(?: again)?|resets?)(?: (?:in|after|for|at least))?(?: about| approximately)? (${DURATIONS})`, 'i')

/** The last resort: `Please try again in 634ms`. */
function sentence(facts: Facts): Hint | undefined {
  for (const text of facts.texts) {
    const found = SENTENCE.exec(text)?.[1]
    const hint = found === undefined ? undefined : usable(sumDurations(found), 'text')
    if (hint !== undefined) return hint
  }
  return undefined
}

/** Rounded up to whole ms; nothing when it is past, garbage, or more than a timer takes. */
function usable(ms: number | undefined, source: string): Hint | undefined {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) return undefined
  // Nanoseconds are real, what is smaller comes from the binary fraction: 0.07 s is 70.00000000000001 ms.
  const whole = Math.ceil(Number(ms.toFixed(6)))
  return whole > MAX_MS ? undefined : { ms: whole, source }
}
