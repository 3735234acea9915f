/** A length of time as somebody types it. */
import { usage } from './cli-error.ts'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `500ms`, `2s`, `1.5m`, `1h`, in ms. @throws CliError `USAGE`. */
export function readDuration(option: string, text: string): number {
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? []
  const ms = number === undefined ? 0 : Number(number) * UNITS[unit!]!
  if (ms < 1) throw usage(`${option} must be a time of at least 1ms with its unit, got ${JSON.stringify(text)}`, 'Such as 500ms, 2s, 1m or 1h')
  return ms
}
