/** Times and durations in words. */

/** Beyond this (ms since the epoch, either way) there is no date. */
const LAST_DATE = 8.64e15

/** `2026-11-29 14:38:27Z`; what is no time of a calendar is shown as it is. */
export const timeText = (ms: number): string => (Math.abs(ms) <= LAST_DATE ? `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}Z` : `${ms}ms`)

/** `12ms`, `1.2s`, `3m05s`, `2h07m` */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes}m${two(seconds % 60)}s` : `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`
}

const two = (n: number): string => String(n).padStart(2, '0')
