/** Runs a program: the handler of its agent. */
import { currentRun, defineAgent, type Agent } from '../../src/index.ts'
import { claimed, describeError } from './claim.ts'
import { isBroken, isFatal } from './failures.ts'
import { runLoop, systemOf } from './loops.ts'
import type { Place } from './place.ts'
import { Line } from './position.ts'
import type { Node, RacerNode, ReadNode, StepNode } from './program.ts'
import { watchedModel, watchedTools } from './requests.ts'
import type { Arguments } from './scripted-model.ts'
import { never, type Session } from './session.ts'
import { askFailing, askStep } from './steps.ts'
import { outputOf, partsOf } from './tools.ts'

/** A bug in the program, which is mended after some attempts. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
}

export const agentOf = (session: Session): Agent<{ program: number }, unknown> =>
  defineAgent('program', (run) => {
    const { endedBy } = session.world
    if (endedBy && !session.zombie) session.world.violate('ended-again', `${session.name} drives the run that ${endedBy.name} has completed`)
    return evaluate({ session, run, path: 'p', line: new Line() }, session.program.node)
  })

async function evaluate(place: Place, node: Node): Promise<unknown> {
  const { session, path, line } = place
  if (session.frozen) return never()
  const child = (name: string | number, own: Line = line): Place => ({ ...place, path: `${path}.${name}`, line: own })
  switch (node.type) {
    case 'seq': {
      const values: unknown[] = []
      const inRow = [...node.nodes.entries()]
      for (const [i, each] of hasLayout(session, 4) ? inRow.reverse() : inRow) values[i] = await evaluateMoved(child(i), each)
      return values
    }
    case 'branches':
      return inBranches(place, node.nodes)
    case 'batch':
      return inBatch(place, node.nodes, node.throws)
    case 'fails':
      return ask(() => askFailing(place, node).catch(async (error: unknown) => {
        if (node.undo && isBroken(error)) await step(child('undo'), node.undo)
        throw error
      }))
    case 'asks':
      return inOrder(place, node.shuffled, node.asks, ({ prompt, system }) => {
        const twins = node.asks.filter((other) => other.prompt === prompt && other.system === system).length
        const model = watchedModel(child(`${prompt}-${system}`), true, twins)
        return ask(() => runLoop('hand', { model, tools: {}, system: systemOf(place, `reader${system}`), script: prompt }))
      })
    case 'loop': {
      const model = watchedModel(place, node.bound)
      const tools = watchedTools(place, node, () => model.asked - 1, (input, position) => runPart(session, input, position, line))
      const script = node.drifts ? `${node.script} in attempt ${session.number}` : node.script
      if (node.via === 'streamText') session.world.streamed.add(place.path)
      return ask(() => runLoop(node.via, { model, tools, system: systemOf(place, 'helper'), script }))
    }
    case 'step':
    case 'read':
      return step(place, node)
    case 'keyed':
      return keyed(place, node.steps, node.waitMs)
    case 'steps':
      return inOrder(place, node.shuffled, node.steps, (each, i) => step(child(i), each))
    case 'race':
      return race(place, node.racers, node.use)
    case 'chain':
      return chain(place, node.read, node.step)
    case 'agent':
      return agent(place, node.name, node.key, node.node)
    case 'wait':
      await session.wait(session.random() * node.ms)
      return null
    case 'tangled':
      return Promise.all(node.nodes.map(async (each, i) => {
        await session.wait(session.random() * node.waitMs)
        return evaluate(child(i), each)
      }))
    case 'throw':
      if (session.world.nthTry(path) <= node.attempts) throw new ProgramError(`a bug at ${path}`)
      return null
  }
}

/** What stands in the line itself in one attempt stands in a branch in another one. */
async function evaluateMoved(place: Place, node: Node): Promise<unknown> {
  const isMoved = hasLayout(place.session, 2) && (node.type === 'loop' || node.type === 'step' || node.type === 'agent')
  if (!isMoved) return evaluate(place, node)
  const line = new Line(place.line)
  return place.run.branch(place.path, () => evaluate({ ...place, line }, node)).finally(() => line.close())
}

const hasLayout = ({ disturbance: { layout = 0 } }: Session, bit: number): boolean => (layout & bit) !== 0

/** A failure is a value for the program: it goes on. */
async function ask(fn: () => Promise<unknown>): Promise<unknown> {
  try {
    return await fn()
  } catch (error) {
    if (isFatal(error)) throw error
    return describeError(error)
  }
}

const step = (place: Place, node: StepNode | ReadNode): Promise<unknown> => ask(() => {
  const { inside } = node as StepNode
  const enter = (): Promise<unknown> => {
    const line = new Line(place.line)
    return evaluate({ ...place, run: currentRun()!, path: `${place.path}.in`, line }, inside!).finally(() => line.close())
  }
  return askStep(place, node, { inside: inside && enter })
})

async function chain(place: Place, name: string, step: StepNode): Promise<unknown> {
  const { session, run, path, line } = place
  const at = `${path}.read`
  const read = async (): Promise<{ of: string; uses: number }> => {
    session.world.start(session, at, undefined)
    await session.latency()
    if ((await session.cross('after read')) || session.frozen) return never()
    return { of: at, uses: session.world.nthTry(at) }
  }
  const spec = { position: at, kind: 'read', repeatable: true, input: undefined, blind: true } as const
  const { uses } = await claimed(session, line, spec, () => run.read(name, read), ({ of }) => (of === at ? undefined : `answered with that of ${of}`))
  await ask(() => askStep({ ...place, path: `${path}.step` }, step, { uses }))
  // What was read differs: it is no part of the result.
  return 'chained'
}

async function inBranches({ session, run, path, line, ...place }: Place, nodes: readonly Node[]): Promise<unknown> {
  const values: unknown[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let i = next++; i < nodes.length; i = next++) {
      const own = new Line(line)
      const key = hasLayout(session, 1) ? `other${i}` : `b${i}`
      values[i] = await run.branch(key, () => evaluate({ ...place, session, run, path: `${path}.b${i}`, line: own }, nodes[i]!)).finally(() => own.close())
    }
  }
  const width = Math.max(1, Math.min(nodes.length, session.disturbance.width ?? nodes.length))
  const workers = Array.from({ length: width }, worker)
  // Where a branch around them would end with the first failure, all of them are awaited.
  if (line.parent) await Promise.allSettled(workers)
  await Promise.all(workers)
  // Which of them the code around opens itself, and which another one's end.
  line.isUnordered = session.program.attempts.some((each) => each.width !== undefined)
  return values
}

/** Those that fail end after the others. */
async function inBatch({ session, run, path, line, ...place }: Place, nodes: readonly Node[], throws: 'first' | 'all'): Promise<unknown> {
  const values: unknown[] = []
  const errors: unknown[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let i = next++; i < nodes.length; i = next++) {
      const own = new Line(line)
      try {
        values[i] = await run.branch(`item${i}`, () => evaluate({ ...place, session, run, path: `${path}.b${i}`, line: own }, nodes[i]!))
      } catch (error) {
        errors.push(error)
      } finally {
        own.close()
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(nodes.length, session.disturbance.width ?? nodes.length) }, worker))
  line.isUnordered = session.program.attempts.some((each) => each.width !== undefined)
  if (errors.length > 0) throw throws === 'first' || errors.length === 1 ? errors[0] : new AggregateError(errors, 'several')
  return values
}

async function race(place: Place, racers: readonly (readonly RacerNode[])[], use: string): Promise<unknown> {
  const { run, path, session } = place
  const inBranches = racers.some(({ length }) => length > 1)
  const line = inBranches ? place.line : new Line(place.line)
  const alone = async (racer: readonly RacerNode[], at: Place): Promise<void> => {
    for (const [i, each] of racer.entries()) await evaluate({ ...at, path: `${at.path}.${i}` }, each)
  }
  const body = async (): Promise<void> => {
    const inside = { ...place, line }
    const running = racers.map(async (racer, i) => {
      const at = { ...inside, path: `${path}.${i}` }
      const own = new Line(line)
      if (inBranches) await run.branch(at.path, () => alone(racer, { ...at, line: own })).finally(() => own.close())
      else await alone(racer, at)
      return i
    })
    const winner = await Promise.race(running)
    if (session.frozen) return never()
    session.world.raceWon(session, path, winner)
    await step({ ...inside, path: `${path}.use${winner}` }, { type: 'step', name: `${use} of ${path}`, input: winner, idempotent: true, does: 'ok' })
    // What a branch starts is awaited before it ends.
    if (inBranches) await Promise.all(running)
  }
  await (inBranches ? body() : run.branch('race', body).finally(() => line.close()))
  // Who wins is a matter of luck: it is no part of the result.
  return 'raced'
}

/** The order in which things side by side are asked for. */
function order({ random }: Session, shuffled: boolean, { length }: readonly unknown[]): number[] {
  const list = [...Array(length).keys()]
  if (shuffled) for (let i = list.length - 1; i > 0; i--) list.push(...list.splice(Math.floor(random() * (i + 1)), 1))
  return list
}

/** Each is asked for when its wait is over, in a context of its own: the code around has asked for none of them itself. */
async function keyed(place: Place, steps: readonly StepNode[], waitMs: number): Promise<unknown[]> {
  const { session, path, line } = place
  const { isUnordered } = line
  const values = await Promise.all(steps.map(async (each, i) => {
    await session.wait(session.random() * waitMs)
    return step({ ...place, path: `${path}.${i}` }, each)
  }))
  line.isUnordered = isUnordered
  return values
}

/** Asks in that order, gives the results in the order of the list. */
async function inOrder<T>({ session, line }: Place, shuffled: boolean, list: readonly T[], ask: (each: T, i: number) => Promise<unknown>): Promise<unknown[]> {
  const asked = new Map(order(session, shuffled, list).map((i) => [i, ask(list[i]!, i)]))
  const values = await Promise.all(list.map((_, i) => asked.get(i)))
  line.isUnordered = shuffled
  return values
}

function agent(place: Place, name: string, key: number | undefined, node: Node): Promise<unknown> {
  const { session, run, path, line } = place
  const input = { of: path }
  const child = defineAgent(name, async (inner: typeof run, given: typeof input) => {
    session.world.start(session, path, undefined)
    const own = new Line(line)
    const value = await evaluate({ session, run: inner, path: `${path}.in`, line: own }, node)
    own.close()
    return { ...given, value }
  })
  const spec = { position: path, kind: 'agent', repeatable: true, input } as const
  const asked = (): Promise<{ of: string; value: unknown }> => run.agent(child, input, key === undefined ? {} : { key })
  return ask(() => claimed(session, line, spec, asked, ({ of }) => (of === path ? undefined : `answered with that of ${of}`)))
}

async function runPart(session: Session, input: Arguments, position: string, parent: Line): Promise<unknown> {
  const { world, program } = session
  const start = world.start(session, position, undefined)
  const line = new Line(parent)
  const value = await evaluate({ session, run: currentRun()!, path: `${position}.in`, line }, partsOf(program).get(input.part!)!)
  line.close()
  start.over = true
  return { ...outputOf(position, input), value }
}
