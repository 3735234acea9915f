/** Durations and points in time as servers write them. */

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6, us: 1e-3, 'µs': 1e-3, ms: 1, millisecond: 1, milliseconds: 1,
  s: 1e3, sec: 1e3, secs: 1e3, second: 1e3, seconds: 1e3,
  m: 6e4, min: 6e4, mins: 6e4, minute: 6e4, minutes: 6e4,
  h: 3.6e6, hr: 3.6e6, hrs: 3.6e6, hour: 3.6e6, hours: 3.6e6,
  d: 8.64e7, day: 8.64e7, days: 8.64e7,
}

/** One or more numbers with units: `634ms`, `1h30m0s`, `1 minute and 30 seconds`. */
export const DURATION = /\d+(?:\.\d+)?\s?(?:ns|us|µs|milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|[smhd])(?![a-z])/gi
const DURATION_ONLY = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d))+$/

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d{1,2}[ -](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ -]\d{2}(?:\d{2})? \d\d:\d\d:\d\d (?:GMT|UTC)|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \d{4})$/
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)$/

/** The duration in ms of a whole text such as `1h30m0s`, undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  return DURATION_ONLY.test(text) ? sumDurations(text) : undefined
}

/** The sum in ms of all durations in a text. */
export function sumDurations(text: string): number {
  let ms = 0
  for (const [part] of text.matchAll(DURATION)) {
    const [, number = '', unit = ''] = /^([\d.]+)\s?(.+)$/.exec(part) ?? []
    ms += Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN)
  }
  return ms
}

/** ms since the epoch of an HTTP date or an RFC 3339 time; undefined for all else. Date.parse alone takes "-5" for a year. */
export function parseDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text) && !RFC_3339.test(text)) return undefined
  // asctime has no zone: it means GMT
  const ms = Date.parse(/\d{4}$/.test(text) ? `${text} GMT` : text)
  return Number.isNaN(ms) ? undefined : ms
}

/** A number as servers write it: digits, perhaps a fraction. No sign, no exponent, no `Infinity`. */
export function parseNumber(text: string): number | undefined {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined
}
