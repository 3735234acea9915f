/** Times and durations as the command line shows them. */
export { durationText, timeText } from '../core/moment.ts'

/** `14:38:27.123`, UTC. */
export const clockText = (ms: number): string => new Date(ms).toISOString().slice(11, 23)
