/** Makes a failing program small: leaves out what is not needed for it to fail in the same way. */
import { execute } from './execute.ts'
import { judge, placed } from './judge.ts'
import type { CallNode, Disturbance, Node, Program, Turn } from './program.ts'
import type { ViolationKind } from './violation.ts'

/** `budget`: how many executions it may take. Resolves to the smallest program found that still fails with `kind`. */
export async function shrink(program: Program, kind: ViolationKind, budget = 600): Promise<Program> {
  let best = placed(program, await execute({ ...program, attempts: [] }))
  let left = budget
  const fails = async (candidate: Program): Promise<boolean> => {
    left--
    return (await judge(candidate)).violations.some((violation) => violation.kind === kind)
  }
  for (let improved = true; improved && left > 0;) {
    improved = false
    for (const smaller of candidates(best)) {
      if (left <= 0) break
      const found = (await fails(smaller)) ? smaller : await withOtherKill(smaller, fails, () => left)
      if (!found) continue
      best = found
      improved = true
      break
    }
  }
  return best
}

/** What is left out moves the crossings: the last kill is looked for nearby. */
async function withOtherKill(program: Program, fails: (candidate: Program) => Promise<boolean>, left: () => number): Promise<Program | undefined> {
  const last = program.attempts.findLastIndex(({ kill }) => kill !== undefined)
  if (last === -1) return undefined
  const kill = program.attempts[last]!.kill!
  for (let by = 1; by <= 12 && left() > 0; by++) {
    if (kill - by < 1) return undefined
    const attempts = program.attempts.map((each, i) => (i === last ? { ...each, kill: kill - by } : each))
    if (await fails({ ...program, attempts })) return { ...program, attempts }
  }
  return undefined
}

function* candidates(program: Program): Iterable<Program> {
  yield* without(program, 'onIncompleteTool', 'hasty', 'expiresAfterMs')
  for (const attempts of shorterLists(program.attempts, smallerDisturbances)) yield { ...program, attempts }
  for (const node of smallerNodes(program.node)) yield { ...program, node }
  for (const [name, turns] of Object.entries(program.scripts)) {
    if (!JSON.stringify([program.node, program.scripts]).includes(`"script":"${name}"`)) {
      const { [name]: _unused, ...scripts } = program.scripts
      yield { ...program, scripts }
    }
    for (const fewer of shorterLists(turns, smallerTurns)) yield { ...program, scripts: { ...program.scripts, [name]: fewer } }
  }
}

/** The list without each of its elements, and with each of them smaller. */
function* shorterLists<T>(list: readonly T[], smaller: (each: T) => Iterable<T>): Iterable<T[]> {
  for (let i = 0; i < list.length; i++) yield list.filter((_, other) => other !== i)
  for (let i = 0; i < list.length; i++) for (const each of smaller(list[i]!)) yield list.map((old, other) => (other === i ? each : old))
}

/** The object without each of its optional fields. */
function* without<T extends object>(object: T, ...fields: (keyof T)[]): Iterable<T> {
  for (const field of fields) {
    if (object[field] === undefined) continue
    const { [field]: _left, ...rest } = object
    yield rest as T
  }
}

function* smallerDisturbances(disturbance: Disturbance): Iterable<Disturbance> {
  yield* without(disturbance, 'nap', 'pause', 'refuse', 'close', 'width', 'version', 'layout', 'knownDead')
  if (disturbance.refuse && disturbance.refuse.length > 1) for (const one of disturbance.refuse) yield { ...disturbance, refuse: [one] }
}

function* smallerTurns(turn: Turn): Iterable<Turn> {
  yield* without(turn, 'fault', 'fickle')
  if (turn.dependent) yield { ...turn, dependent: false }
  for (const calls of shorterLists(turn.calls, smallerCalls)) yield { ...turn, calls }
}

function* smallerCalls(call: CallNode): Iterable<CallNode> {
  if (call.does !== 'ok') yield { ...call, does: 'ok' }
  yield* without(call, 'gate')
  if (call.gate && call.gate.when !== true) yield { ...call, gate: { ...call.gate, when: true } }
  if (call.gate && call.gate.answer !== 'approve') yield { ...call, gate: { ...call.gate, answer: 'approve' } }
  if (call.inside) for (const inside of smallerNodes(call.inside)) yield { ...call, inside }
}

function* smallerNodes(node: Node): Iterable<Node> {
  switch (node.type) {
    case 'tangled':
      if (node.waitMs > 0) yield { ...node, waitMs: 0 }
      if (node.nodes.length === 1) yield node.nodes[0]!
      for (const nodes of shorterLists(node.nodes, smallerNodes)) if (nodes.length > 0) yield { ...node, nodes }
      break
    case 'batch':
    case 'seq':
    case 'branches':
      if (node.type === 'batch' && node.throws === 'all') yield { ...node, throws: 'first' }
      if (node.nodes.length === 1) yield node.nodes[0]!
      for (const nodes of shorterLists(node.nodes, smallerNodes)) if (nodes.length > 0) yield { ...node, nodes }
      break
    case 'asks':
      for (const asks of shorterLists(node.asks, () => [])) if (asks.length > 0) yield { ...node, asks }
      break
    case 'loop':
      if (node.via !== 'hand') yield { ...node, via: 'hand' }
      if (!node.bound) yield { ...node, bound: true }
      yield* without(node, 'drifts')
      break
    case 'step':
      if (node.inside) {
        yield* without(node, 'inside', 'slow')
        for (const inside of smallerNodes(node.inside)) yield { ...node, inside }
      }
      if (node.does !== 'ok') yield { ...node, does: 'ok' }
      yield* without(node, 'key', 'input')
      break
    case 'read':
      if (node.does !== 'ok') yield { ...node, does: 'ok' }
      yield* without(node, 'key', 'input')
      break
    case 'keyed':
      for (const steps of shorterLists(node.steps, () => [])) if (steps.length > 0) yield { ...node, steps }
      break
    case 'race':
      for (const racers of shorterLists(node.racers, (racer) => shorterLists(racer, () => []))) {
        if (racers.length > 0 && racers.every(({ length }) => length > 0)) yield { ...node, racers }
      }
      break
    case 'steps':
      for (const steps of shorterLists(node.steps, () => [])) if (steps.length > 0) yield { ...node, steps }
      break
    case 'chain':
      yield node.step
      break
    case 'agent':
      yield node.node
      yield* without(node, 'key')
      for (const inner of smallerNodes(node.node)) yield { ...node, node: inner }
      break
    case 'wait':
      if (node.ms > 0) yield { ...node, ms: 0 }
      break
    case 'fails':
      if (node.times > 1) yield { ...node, times: 1 }
      if (node.undo) yield { type: 'fails', key: node.key, times: node.times }
      break
    case 'throw':
      break
  }
}
