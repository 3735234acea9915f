/** Runs a program with and without its disturbances, and compares. */
import { execute, type Execution } from './execute.ts'
import type { Program } from './program.ts'

export async function judge(program: Program): Promise<Execution> {
  const calm = await execute({ ...program, attempts: [] })
  if (calm.violations.length > 0) return calm
  return compare(calm, await execute(placed(program, calm)))
}

/**
 * The program is killed (or paused until another has taken over, or for a nap) in its first attempt at every crossing in turn, if it has at
 * most `most` of them. Resolves to the first execution that fails, or the undisturbed one.
 */
export async function judgeEverywhere(
  program: Program,
  how: 'kill' | 'pause' | 'nap',
  most: number,
  onExecution: (execution: Execution) => void,
): Promise<{ readonly program: Program; readonly execution: Execution }> {
  const calm = await execute({ ...program, attempts: [] })
  onExecution(calm)
  const [first = {}, ...rest] = placed(program, calm).attempts
  for (let at = 1; calm.violations.length === 0 && calm.crossings <= most && at <= calm.crossings; at++) {
    const killed = { ...program, attempts: [{ ...first, [how]: at }, ...rest] }
    const execution = compare(calm, await execute(killed))
    onExecution(execution)
    if (execution.violations.length > 0) return { program: killed, execution }
  }
  return { program: { ...program, attempts: [] }, execution: calm }
}

/** With crossings in place of shares. */
export function placed(program: Program, { crossings }: Pick<Execution, 'crossings'>): Program {
  const place = (at: number): number => (at < 1 ? 1 + Math.floor(at * crossings) : at)
  return {
    ...program,
    attempts: program.attempts.map((each) => ({
      ...each,
      ...(each.kill !== undefined && { kill: place(each.kill) }),
      ...(each.pause !== undefined && { pause: place(each.pause) }),
      ...(each.nap !== undefined && { nap: place(each.nap) }),
      ...(each.close !== undefined && { close: place(each.close) }),
    })),
  }
}

function compare(calm: Execution, disturbed: Execution): Execution {
  if (disturbed.violations.length > 0 || disturbed.altered || calm.altered || disturbed.unstable) return disturbed
  const [expected, got] = [JSON.stringify(calm.result), JSON.stringify(disturbed.result)]
  if (expected === got) return disturbed
  return { ...disturbed, violations: [{ kind: 'result', message: `undisturbed: ${expected}, disturbed: ${got}` }] }
}
