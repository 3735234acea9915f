/** What a run has used, and may use, in words. */
import type { RunUsage } from '../../errors.ts'
import type { LimitsRecord } from '../../journal/entry.ts'
import { durationText, timeText } from '../moment.ts'

/** `5 steps (3 model, 2 tool), 90 tokens in, 12 out, 2.1s active` */
export function usedText({ steps, inputTokens, outputTokens, activeMs }: RunUsage): string {
  const ran = Object.entries(steps).filter(([, n]) => n > 0)
  const all = ran.reduce((sum, [, n]) => sum + n, 0)
  const kinds = ran.length > 0 ? ` (${ran.map(([kind, n]) => `${n} ${kind}`).join(', ')})` : ''
  const tokens = `${inputTokens} tokens in, ${outputTokens} out`
  return `${all} ${all === 1 ? 'step' : 'steps'}${kinds}, ${tokens}, ${durationText(activeMs)} active`
}

/** `maxSteps 20, runMs 10m00s, maxTokens none`; empty: no call gave any. */
export function limitsText({ maxSteps, maxTokens, maxJournalBytes, runMs, deadline }: LimitsRecord): string {
  const texts = [
    ['maxSteps', maxSteps, String], ['maxTokens', maxTokens, String], ['maxJournalBytes', maxJournalBytes, String], ['runMs', runMs, durationText], ['deadline', deadline, timeText],
  ] as const
  return texts.flatMap(([name, value, text]) => (value === undefined ? [] : [`${name} ${value === null ? 'none' : text(value)}`])).join(', ')
}
