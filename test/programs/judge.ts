/** Runs a program with and without its disturbances, and compares. */
import { execute, type Execution } from './execute.ts'
import type { Program } from './program.ts'

export async function judge(program: Program): Promise<Execution> {
  const calm = await execute({ ...program, attempts: [] })
  if (calm.violations.length > 0) return calm
  const disturbed = await execute(program)
  if (disturbed.violations.length > 0 || disturbed.altered || calm.altered || program.unstable) return disturbed
  const [expected, got] = [JSON.stringify(calm.result), JSON.stringify(disturbed.result)]
  if (expected === got) return disturbed
  return { ...disturbed, violations: [{ kind: 'result', message: `undisturbed: ${expected}, disturbed: ${got}` }] }
}
