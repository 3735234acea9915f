/** Makes random programs: the same seed, the same program. */
import { seededRandom, type Random } from '../../src/core/random.ts'
import type { Behaviour, CallNode, Disturbance, Node, Program, ReadNode, StepNode, ToolName, Turn, Via } from './program.ts'

/** The seed of program `k` of a series. */
export const seedOf = (series: number, k: number): number => series * 1_000_000 + k

export function generate(seed: number): Program {
  const maker = new Maker(seededRandom(seed * 7919 + 13))
  return maker.program(seed)
}

class Maker {
  readonly #random: Random
  readonly #scripts: Record<string, readonly Turn[]> = {}
  /** Nodes that may still be made. */
  #left = 0
  #trouble = 0
  #deploys = false
  #asked = 0

  constructor(random: Random) {
    this.#random = random
  }

  program(seed: number): Program {
    this.#left = 2 + this.#below(12)
    // A third of the programs has no trouble of its own: there the result must be that of an undisturbed execution.
    this.#trouble = this.#pick([0, 0.1, 0.3])
    // Where one conversation is asked under several configurations, the configuration counts (R8): no deploys there.
    this.#deploys = this.#chance(0.3)
    const node = this.#sequence(3)
    return { seed, node, scripts: this.#scripts, attempts: this.#list(0, 4, () => this.#disturbance()) }
  }

  #disturbance(): Disturbance {
    const refuse = this.#list(1, 2, () => 1 + this.#below(25))
    const disturbance: Disturbance = {
      ...(this.#chance(0.85) && { kill: 1 + Math.floor(this.#random() ** 2 * 200), knownDead: this.#chance(0.5) }),
      ...(this.#chance(0.1) && { close: 1 + this.#below(100) }),
      ...(this.#chance(0.15) && { refuse }),
      ...(this.#chance(0.3) && { width: 1 + this.#below(3) }),
      ...(this.#deploys && this.#chance(0.5) && { version: 1 + this.#below(2) }),
    }
    return disturbance
  }

  #sequence(depth: number): Node {
    return { type: 'seq', nodes: this.#list(1, 4, () => this.#node(depth)) }
  }

  #node(depth: number): Node {
    this.#left--
    if (this.#left < 0) return this.#step()
    const leaf = this.#random()
    if (depth === 0 || leaf < 0.55) {
      if (leaf < 0.2) return this.#loop(depth)
      if (leaf < 0.3) return this.#read()
      if (leaf < 0.33) return { type: 'wait', ms: this.#pick([50, 300, 2_000]) }
      if (leaf < 0.36) return this.#asks()
      if (leaf < 0.38) return { type: 'steps', steps: this.#distinct() }
      return this.#step()
    }
    switch (this.#below(8)) {
      case 0:
      case 1: return { type: 'branches', nodes: this.#list(2, 3, () => this.#sequence(depth - 1)) }
      case 2: return { type: 'agent', name: this.#pick(['child', 'helper']), ...(this.#chance(0.4) && { key: this.#below(2) }), node: this.#sequence(depth - 1) }
      case 3: return { type: 'keyed', steps: this.#list(2, 3, (key) => ({ ...this.#plainStep(), key })), waitMs: this.#pick([0, 200]) }
      case 4: return { type: 'race', steps: this.#distinct(), use: 'winner' }
      case 5: return this.#step(true)
      default: return this.#loop(depth)
    }
  }

  #loop(depth: number): Node {
    const known = Object.keys(this.#scripts)
    const isRepeated = known.length > 0 && !this.#deploys && this.#chance(0.25)
    const script = isRepeated ? this.#pick(known) : this.#script(depth)
    return { type: 'loop', script, via: this.#pick<Via>(['hand', 'hand', 'hand-stream', 'generateText', 'streamText']), bound: this.#chance(0.5) }
  }

  #script(depth: number): string {
    const turns = this.#list(0, 4, () => this.#turn(depth))
    const name = `script${Object.keys(this.#scripts).length}`
    this.#scripts[name] = turns
    return name
  }

  #turn(depth: number): Turn {
    const calls = this.#list(1, this.#chance(0.3) ? 3 : 1, (i) => this.#call(depth, i))
    return {
      calls,
      dependent: this.#chance(0.3),
      ...(this.#chance(this.#trouble / 2) && {
        fault: { type: this.#pick(['busy', 'busy', 'wait', 'break', 'break', 'fatal'] as const), times: 1 + this.#below(2) },
      }),
    }
  }

  #call(depth: number, i: number): CallNode {
    const tool = this.#pick<ToolName>(['pay', 'pay', 'mail', 'mail', 'order', 'note', 'post', 'put', 'look', ...(depth > 0 && this.#left > 0 ? ['team' as const] : [])])
    // Models repeat ids: in one response rarely, over responses often.
    const id = this.#chance(0.5) ? `call_${i}` : `call_${this.#below(3)}`
    const does = tool === 'team' ? 'ok' : this.#behaviour()
    return { tool, id, arg: this.#below(2), does, ...(tool === 'team' && { inside: this.#sequence(depth - 1) }) }
  }

  #behaviour(): Behaviour {
    if (!this.#chance(this.#trouble)) return 'ok'
    return this.#pick(['error', 'error', 'reset-before', 'reset-after', 'hang-before', 'hang-after', 'late', 'flaky', 'flaky'])
  }

  #plainStep(): StepNode {
    return {
      type: 'step',
      name: this.#pick(['charge', 'ship', 'tell']),
      ...(this.#chance(0.4) && { input: this.#below(2) }),
      idempotent: this.#chance(0.3),
      does: this.#behaviour(),
    }
  }

  #step(mayHold = false): StepNode {
    const step = { ...this.#plainStep(), ...(this.#chance(0.3) && { key: this.#below(2) }) }
    if (!mayHold) return step
    const inside: Node = { type: 'seq', nodes: this.#list(1, 2, () => ({ ...this.#plainStep(), does: 'ok' as const })) }
    return { ...step, idempotent: true, does: 'ok', inside }
  }

  #read(): ReadNode {
    return {
      type: 'read',
      name: this.#pick(['load', 'look']),
      ...(this.#chance(0.3) && { key: this.#below(2) }),
      ...(this.#chance(0.4) && { input: this.#below(2) }),
      does: this.#pick(['ok', 'ok', this.#behaviour()]),
    }
  }

  #distinct(): (StepNode | ReadNode)[] {
    return this.#list(2, 3, (i): StepNode | ReadNode => ({ ...(this.#chance(0.5) ? this.#plainStep() : this.#read()), name: `racer${i}`, does: 'ok' }))
  }

  #asks(): Node {
    this.#asked++
    return {
      type: 'asks',
      asks: this.#list(2, 4, (i) => this.#deploys
        ? { prompt: `question ${this.#asked} ${i}`, system: 0 }
        : { prompt: this.#pick(['one', 'two']), system: this.#below(2) }),
    }
  }

  #list<T>(least: number, most: number, make: (i: number) => T): T[] {
    return Array.from({ length: least + this.#below(most - least + 1) }, (_, i) => make(i))
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n)
  }

  #chance(p: number): boolean {
    return this.#random() < p
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)]!
  }
}
