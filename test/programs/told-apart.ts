/**
 * Steps that say nothing of what they ask for are told apart by their turn alone, so those of one name and key have to follow one another in the
 * same code of their branch (R1): others are given an input, or a name of their own.
 */
import type { CallNode, Node, Program, RacerNode, ReadNode, StepNode, Turn } from './program.ts'

/** What a branch has asked for so far: by kind, name and key, the code that asked last. */
type Scope = Map<string, object>

export function toldApart(node: Node, scripts: Program['scripts']): Pick<Program, 'node' | 'scripts'> {
  let number = 20

  function blind<T extends StepNode | ReadNode>(scope: Scope, each: T, code: object): T {
    const own = each.type === 'step' && each.inside ? { ...each, inside: inBranch(each.inside) } : each
    if (own.input !== undefined || isNew(scope, `${own.type} ${own.name} ${own.key ?? ''}`, code)) return own
    return { ...own, input: number++ }
  }

  function isNew(scope: Scope, what: string, code: object): boolean {
    const before = scope.get(what)
    scope.set(what, before ?? code)
    return before === undefined || before === code
  }

  /** `code`: what asks for it, where it asks at once. */
  function told(scope: Scope, each: Node, code: object = {}): Node {
    switch (each.type) {
      case 'seq': {
        const own = {}
        return { ...each, nodes: each.nodes.map((inner) => told(scope, inner, own)) }
      }
      case 'step':
      case 'read': return blind(scope, each, code)
      case 'keyed': return { ...each, steps: each.steps.map((step) => blind(scope, step, {})) }
      case 'steps': return { ...each, steps: each.steps.map((step) => blind(scope, step, {})) }
      case 'race': return { ...each, racers: each.racers.map((racer) => racer.map((part): RacerNode => (part.type === 'wait' ? part : blind(racer.length > 1 ? new Map() : scope, part, {})))) }
      case 'chain': {
        const isOther = !isNew(scope, `read ${each.read} `, {}) || !isNew(scope, `step ${each.step.name} `, {})
        return isOther ? { ...each, read: `${each.read} ${number}`, step: { ...each.step, name: `${each.step.name} ${number++}` } } : each
      }
      case 'batch':
      case 'branches': return { ...each, nodes: each.nodes.map(inBranch) }
      case 'tangled': return { ...each, nodes: each.nodes.map((inner) => told(scope, inner)) }
      case 'agent': return { ...each, node: inBranch(each.node) }
      default: return each
    }
  }

  const inBranch = (each: Node): Node => told(new Map(), each)
  const call = (each: CallNode): CallNode => (each.inside ? { ...each, inside: inBranch(each.inside) } : each)
  const turn = (each: Turn): Turn => ({ ...each, calls: each.calls.map(call) })
  return { node: inBranch(node), scripts: Object.fromEntries(Object.entries(scripts).map(([name, turns]) => [name, turns.map(turn)])) }
}
