/** `run.step` and `run.read` of a program. */
import { currentStep } from '../../src/index.ts'
import { claimed } from './claim.ts'
import { perform } from './effect.ts'
import type { Place } from './place.ts'
import { position } from './position.ts'
import { brokenAt } from './failures.ts'
import type { Node, ReadNode, StepNode } from './program.ts'
import { outputOf } from './tools.ts'
import type { CallSpec } from './call.ts'

interface Output {
  readonly of: string
  readonly input: unknown
  readonly uses?: unknown
}

export interface Holding {
  /** Runs what the step holds, when its code is called. */
  readonly inside?: (() => Promise<unknown>) | undefined
  /** What its code uses and does not say as input. */
  readonly uses?: unknown
}

export function askStep({ session, run, path, line }: Place, node: StepNode | ReadNode, { inside, uses }: Holding = {}): Promise<unknown> {
  const { type, name, key, input, does } = node
  const repeatable = type === 'read' || node.idempotent
  const spec: CallSpec = {
    position: path,
    kind: type,
    what: `${type} ${name}`,
    repeatable,
    ...(!repeatable && { effect: `step ${name} ${key ?? ''}`, rerunAllowed: session.program.onIncompleteTool === 'rerun' }),
    input,
    does,
    uses,
    blind: input === undefined && key === undefined,
  }
  const output = { ...outputOf(path, input ?? null), ...(uses !== undefined && { uses }) }
  const work = async (): Promise<unknown> => {
    const done = await perform({ session, position: position()!, does, key: type === 'read' ? undefined : currentStep()!.idempotencyKey, output, repeatable })
    if (!inside) return done
    if (type === 'step' && node.slow !== undefined && session.world.nthTry(`${path} slow`) === 1) {
      session.world.altered = true
      await session.wait(node.slow)
    }
    return { ...(done as Output), inside: await inside() }
  }
  const options = { ...(key !== undefined && { key }), ...(input !== undefined && { input }) }
  const isPlain = key === undefined && input === undefined
  const ask = (): Promise<unknown> => {
    if (type === 'read') return isPlain ? run.read(name, work) : run.read(name, options, work)
    return isPlain && !node.idempotent ? run.step(name, work) : run.step(name, { ...options, idempotent: node.idempotent }, work)
  }
  return claimed(session, line, spec, ask, (value) => {
    const { of, input: answered, uses: used } = value as Output
    if (of === path && answered === (input ?? null) && used === uses) return undefined
    return session.world.allowedAnswers(path).has(of) ? undefined : `answered with ${JSON.stringify(value)}`
  })
}

/** It fails as it is called until it is mended, and that is no value for the program. */
export function askFailing({ session, run, path, line }: Place, { key, times }: Node & { readonly type: 'fails' }): Promise<unknown> {
  const spec: CallSpec = { position: path, kind: 'step', what: 'step breaks', repeatable: false, effect: `step breaks ${key}`, rerunAllowed: session.program.onIncompleteTool === 'rerun', input: undefined, does: 'ok', breaks: true }
  const work = async (): Promise<unknown> => {
    const does = session.world.nthTry(`${path} breaks`) <= times ? 'error' : 'ok'
    try {
      return await perform({ session, position: position()!, does, key: currentStep()!.idempotencyKey, output: outputOf(path, null), repeatable: false })
    } catch (error) {
      throw does === 'error' ? brokenAt(path) : error
    }
  }
  return claimed(session, line, spec, () => run.step('breaks', { key }, work), (value) => ((value as Output).of === path ? undefined : `answered with ${JSON.stringify(value)}`))
}
