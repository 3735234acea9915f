/** Which calls of a program somebody has to agree to. Drawn by itself, after the program is made: those without such calls stay as they were. */
import type { Random } from '../../src/core/random.ts'
import type { CallNode, Gate, Program } from './program.ts'

/** How many programs have such calls, and how many of their calls are. */
const PROGRAMS = 0.35
const CALLS = 0.6
const ANSWERS: readonly Gate['answer'][] = ['approve', 'approve', 'change', 'deny', 'lapse']

export function gated(program: Program, random: Random): Program {
  if (random() >= PROGRAMS) return program
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const expires = random() < 0.25 ? { expiresAfterMs: pick([5_000, 3_600_000]) } : {}
  // Where every call of a tool is asked about, its policy says so without a condition.
  const conditions: readonly Gate['when'][] = random() < 0.3 ? [true] : [true, true, true, false, 'throws']
  const share = conditions.length === 1 ? 1 : CALLS
  const gate = (call: CallNode): CallNode => (random() < share ? { ...call, gate: { when: pick(conditions), answer: pick(ANSWERS) } } : call)
  const scripts = Object.fromEntries(Object.entries(program.scripts).map(([name, turns]) => [name, turns.map((turn) => ({ ...turn, calls: turn.calls.map(gate) }))]))
  return { ...program, ...expires, scripts }
}
