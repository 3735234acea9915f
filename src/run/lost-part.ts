/** A call of which nothing is recorded, because a part of the journal was lost: in words. */
import { timeText } from '../core/moment.ts'

/** `before`: when the journal was cut, ms since the epoch. Whether it was called at all, and when, nobody knows. */
export const lostText = (before: number): string => `may have been called in the part of the journal that was lost before ${timeText(before)}`

/** Of calls that are in question: where some of them are only presumed, that and which; '' where none is. `own`: the call that they stand in the way of. */
export function presumedText(own: string, calls: readonly { readonly step: string; readonly lostBefore?: number | null | undefined }[]): string {
  const lost = calls.filter(({ lostBefore }) => typeof lostBefore === 'number')
  const [first] = lost
  return first ? `: ${lost.length === 1 && first.step === own ? 'it' : lost.map(({ step }) => step).join(', ')} ${lostText(Math.max(...lost.map(({ lostBefore }) => lostBefore!)))}` : ''
}
