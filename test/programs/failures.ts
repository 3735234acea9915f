/** Which parts of a program fail it, and what it makes of failures side by side. Drawn by itself, after the program is made: those without failures stay as they were. */
import type { Random } from '../../src/core/random.ts'
import type { Node, Program } from './program.ts'

/** How many programs have them, and how many of their sequences. */
const PROGRAMS = 0.35
const SEQUENCES = 0.4
/** How many failures have a clean-up. */
const UNDOING = 0.3

/** What fails the run, through branches and agents, as long as it is not mended: not a bug of the program (`ProgramError`), but a step of it. */
export const brokenAt = (path: string): Error => new Error(`broken at ${path}`)

/** What cleans up behind a failure: a run that has failed asks for it anew, also where its process died right then. */
export const cleansUp = (position: string): boolean => position.endsWith('.undo')

/** Whether an error ends what it goes through; others are values for the program. */
export const isFatal = (error: unknown): boolean =>
  error instanceof AggregateError || (error instanceof Error && (error.name === 'ProgramError' || error.message.startsWith('broken at ')))

/** Whether it is such a failure, and no bug besides. */
export const isBroken = (error: unknown): boolean =>
  error instanceof AggregateError ? error.errors.every(isBroken) : error instanceof Error && error.message.startsWith('broken at ')

export function failing(program: Program, random: Random): Program {
  if (program.unstable || random() >= PROGRAMS) return program
  let key = 100
  // What a step or a call holds fails with that alone: there is no failure of the run in it.
  const within = (node: Node): Node => {
    switch (node.type) {
      case 'seq': {
        const nodes = node.nodes.map(within)
        if (random() >= SEQUENCES) return { ...node, nodes }
        const at = Math.floor(random() * (nodes.length + 1))
        return { ...node, nodes: nodes.toSpliced(at, 0, { type: 'fails', key: key++, times: random() < 0.7 ? 1 : 2, ...(random() < UNDOING && { undo: { type: 'step', name: 'undo', key, idempotent: random() < 0.5, does: 'ok' } }) }) }
      }
      case 'branches': {
        const nodes = node.nodes.map(within)
        return random() < 0.6 ? { type: 'batch', nodes, throws: random() < 0.5 ? 'first' : 'all' } : { ...node, nodes }
      }
      case 'agent': return { ...node, node: within(node.node) }
      default: return node
    }
  }
  return { ...program, node: within(program.node) }
}
