/** Makes random programs: the same seed, the same program. */
import { seededRandom, type Random } from '../../src/core/random.ts'
import { failing } from './failures.ts'
import { gated } from './gates.ts'
import { toldApart } from './told-apart.ts'
import type { Behaviour, CallNode, Disturbance, Node, Program, ReadNode, StepNode, ToolName, Turn, Via } from './program.ts'

/** The seed of program `k` of a series. */
export const seedOf = (series: number, k: number): number => series * 1_000_000 + k

export function generate(seed: number): Program {
  const maker = new Maker(seededRandom(seed * 7919 + 13))
  return failing(gated(maker.program(seed), seededRandom(seed * 104_729 + 31)), seededRandom(seed * 15_485_863 + 7))
}

/** What a program may be made of; each program uses some of it only, so that what it uses meets often. */
const LEAVES = ['loop', 'step', 'read', 'wait', 'asks', 'steps', 'keyed', 'race', 'chain', 'throw'] as const
const HOLDERS = ['branches', 'agent', 'inside', 'team'] as const
const TOOLS: readonly ToolName[] = ['pay', 'mail', 'order', 'note', 'post', 'put', 'look']
const TROUBLES: readonly Behaviour[] = ['error', 'reset-before', 'reset-after', 'hang-before', 'hang-after', 'late', 'late-error', 'flaky']
const FAULTS = ['busy', 'wait', 'break', 'fatal'] as const
const VIAS: readonly Via[] = ['hand', 'hand-stream', 'generateText', 'streamText']
const DISTURBANCES = ['kill', 'pause', 'nap', 'close', 'refuse', 'width', 'version'] as const

/** Equal calls of one response that may run again can be answered with each other's results, which nobody can tell. */
const isHarmlessTwin = (a: CallNode, b: CallNode): boolean =>
  a.tool === b.tool && a.id === b.id && a.arg === b.arg && (a.tool === 'put' || a.tool === 'look' || a.tool === 'team')

class Maker {
  readonly #random: Random
  readonly #scripts: Record<string, readonly Turn[]> = {}
  /** Nodes that may still be made. */
  #left: number
  readonly #leaves: readonly (typeof LEAVES)[number][]
  readonly #holders: readonly (typeof HOLDERS)[number][]
  readonly #tools: readonly ToolName[]
  readonly #troubles: readonly Behaviour[]
  readonly #vias: readonly Via[]
  readonly #disturbances: readonly (typeof DISTURBANCES)[number][]
  /** How likely something goes wrong by itself. */
  readonly #trouble: number
  /** What differs between attempts, if anything. */
  readonly #unstable: 'drifts' | 'tangled' | 'diverge' | 'moves' | undefined
  /** A failure here ends the run, and not only a step that holds it. */
  #isOpen = true

  constructor(random: Random) {
    this.#random = random
    this.#left = 2 + this.#below(10)
    this.#leaves = this.#some(LEAVES)
    this.#holders = this.#some(HOLDERS)
    this.#tools = this.#some(TOOLS)
    this.#troubles = this.#some(TROUBLES)
    this.#vias = this.#some(VIAS)
    this.#unstable = this.#chance(0.25) ? this.#pick(['drifts', 'tangled', 'diverge', 'moves'] as const) : undefined
    // Most often: kills.
    this.#disturbances = this.#chance(0.3) ? ['kill'] : this.#some(DISTURBANCES)
    this.#trouble = this.#pick([0, 0.15, 0.4])
  }

  program(seed: number): Program {
    const node = this.#sequence(3)
    return {
      seed,
      ...(this.#unstable && { unstable: true }),
      ...(this.#unstable === 'diverge' && { onConfigChange: 'diverge' as const }),
      ...(this.#chance(0.2) && { hasty: true }),
      ...(this.#chance(0.15) && { onIncompleteTool: this.#pick(['rerun', 'skip'] as const) }),
      ...toldApart(node, this.#scripts),
      attempts: this.#list(1, 4, () => this.#disturbance()),
    }
  }

  /** Where one conversation is asked under several configurations, the configuration counts (R8): no deploys there. */
  get #deploys(): boolean {
    return this.#disturbances.includes('version') || this.#unstable === 'diverge' || this.#moves
  }

  #disturbance(): Disturbance {
    const may = (which: (typeof DISTURBANCES)[number], p: number): boolean =>
      (this.#disturbances.includes(which) || (which === 'version' && this.#unstable === 'diverge')) && this.#chance(p)
    return {
      ...(may('kill', 0.9) && { kill: this.#round(this.#random()), knownDead: this.#chance(0.5) }),
      ...(may('pause', 0.4) && { pause: this.#round(this.#random()), thaw: 1 + this.#below(60) }),
      ...(may('nap', 0.5) && { nap: this.#round(this.#random()) }),
      ...(may('close', 0.3) && { close: this.#round(this.#random()) }),
      ...(may('refuse', 0.4) && { refuse: this.#list(1, 2, () => 1 + this.#below(25)) }),
      ...(may('width', 0.5) && { width: 1 + this.#below(3) }),
      ...(may('version', 0.5) && { version: 1 + this.#below(2) }),
      ...(this.#moves && this.#chance(0.6) && { layout: 1 + this.#below(7) }),
    }
  }

  #sequence(depth: number): Node {
    return { type: 'seq', nodes: this.#list(1, 4, () => this.#node(depth)) }
  }

  #contained(depth: number): Node {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    const node = this.#sequence(depth)
    this.#isOpen = wasOpen
    return node
  }

  #node(depth: number): Node {
    this.#left--
    if (this.#left < 0) return this.#step()
    const holders = this.#holders.filter((each) => each !== 'team')
    if (depth > 0 && holders.length > 0 && this.#chance(0.35)) {
      switch (this.#pick(holders)) {
        case 'agent': return { type: 'agent', name: this.#pick(['child', 'helper']), ...this.#maybeKey(0.4), node: this.#contained(depth - 1) }
        case 'inside': return this.#holding()
        default: return { type: 'branches', nodes: this.#list(2, 3, () => this.#sequence(depth - 1)) }
      }
    }
    if (depth > 0 && this.#unstable === 'tangled' && this.#chance(0.3)) {
      const line = (i: number): Node => (this.#chance(0.5) ? this.#loop(0, true) : { ...this.#plainStep(), input: 10 + i })
      return { type: 'tangled', nodes: this.#list(2, 3, line), waitMs: this.#pick([0, 100]) }
    }
    switch (this.#pick(this.#leaves)) {
      case 'loop': return this.#loop(depth)
      case 'read': return this.#read()
      case 'wait': return { type: 'wait', ms: this.#pick([50, 300, 2_000]) }
      case 'asks': return this.#deploys ? this.#step() : this.#asks()
      case 'steps': return this.#sideBySide()
      case 'keyed': return this.#keyed()
      case 'race': return this.#race()
      case 'chain': return this.#moves ? this.#step() : { type: 'chain', read: 'load', step: this.#blindStep() }
      case 'throw': return this.#isOpen ? { type: 'throw', attempts: 1 + this.#below(2) } : this.#step()
      default: return this.#step()
    }
  }

  #loop(depth: number, isNew = false): Node {
    const known = Object.keys(this.#scripts)
    const isRepeated = !isNew && known.length > 0 && !this.#deploys && this.#chance(0.25)
    const script = isRepeated ? this.#pick(known) : this.#script(depth)
    const drifts = this.#unstable === 'drifts' && this.#chance(0.7)
    return { type: 'loop', script, via: this.#pick(this.#vias), bound: this.#chance(0.5), ...(drifts && { drifts }) }
  }

  #script(depth: number): string {
    const turns = this.#list(0, 3, () => this.#turn(depth))
    const name = `script${Object.keys(this.#scripts).length}`
    this.#scripts[name] = turns
    return name
  }

  #turn(depth: number): Turn {
    const calls = this.#list(1, this.#chance(0.4) ? 3 : 1, (i) => this.#call(depth, i))
    return {
      calls: calls.map((call, i) => (calls.slice(0, i).some((other) => isHarmlessTwin(call, other)) ? { ...call, id: `${call.id}_${i}` } : call)),
      dependent: this.#chance(0.3),
      ...(this.#chance(0.15) && { fickle: true }),
      ...(this.#chance(this.#trouble / 2) && { fault: { type: this.#pick(FAULTS), times: 1 + this.#below(2) } }),
    }
  }

  #call(depth: number, i: number): CallNode {
    // Models repeat ids: in one response rarely, over responses often.
    const id = this.#chance(0.5) ? `call_${i}` : `call_${this.#below(3)}`
    const arg = this.#below(2)
    if (depth > 0 && this.#left > 0 && this.#holders.includes('team') && this.#chance(0.3)) {
      return { tool: 'team', id, arg, does: 'ok', inside: this.#contained(depth - 1) }
    }
    return { tool: this.#pick(this.#tools), id, arg, does: this.#behaviour() }
  }

  #behaviour(): Behaviour {
    return this.#chance(this.#trouble) ? this.#pick(this.#troubles) : 'ok'
  }

  #plainStep(idempotent = this.#chance(0.3)): StepNode {
    const name = this.#pick(['charge', 'ship', 'tell'])
    // What has effects is told by its name from what has none: code that moves must not take one for the other.
    return { type: 'step', name: this.#moves && idempotent ? `${name} again` : name, ...this.#maybeInput(), idempotent, does: this.#behaviour() }
  }

  /** Code that stands at another place, or in another order, is known by what it asks only. */
  get #moves(): boolean {
    return this.#unstable === 'moves'
  }

  #maybeInput(): { input?: number } {
    return this.#moves || this.#chance(0.4) ? { input: this.#below(2) } : {}
  }

  #step(idempotent?: boolean): StepNode {
    return { ...this.#plainStep(idempotent), ...this.#maybeKey(0.3) }
  }

  #keyed(): Node {
    return { type: 'keyed', steps: this.#list(2, 3, (key) => ({ ...this.#plainStep(), key })), waitMs: this.#pick([0, 200]) }
  }

  #race(): Node {
    return { type: 'race', racers: this.#list(2, 3, (i) => this.#list(1, 2, (j) => this.#named(10 * i + j))), use: 'winner' }
  }

  #blindStep(): StepNode {
    return { type: 'step', name: this.#pick(['charge', 'ship']), idempotent: this.#chance(0.3), does: 'ok' }
  }

  #holding(): StepNode {
    const isSlow = this.#chance(0.3)
    const does = isSlow && this.#chance(0.5) ? 'late' : 'ok'
    const inside: Node = { type: 'seq', nodes: this.#list(1, 2, () => ({ ...this.#plainStep(), does } as const)) }
    // Its record answers for what it holds: where it is known by what it asks only, it asks for what no other one does.
    return { ...this.#step(true), ...(this.#moves && { input: 100 + this.#left }), does: 'ok', inside, ...(isSlow && { slow: this.#pick([900, 960]) }) }
  }

  #read(): ReadNode {
    return {
      type: 'read',
      name: this.#pick(['load', 'look']),
      ...this.#maybeKey(0.3),
      ...this.#maybeInput(),
      does: this.#chance(0.5) ? 'ok' : this.#behaviour(),
    }
  }

  #sideBySide(): Node {
    const steps = this.#list(2, 3, (i) => this.#named(i))
    // The key of an idempotent step is made of its number: asked in another order, it would be another one.
    return { type: 'steps', steps, shuffled: steps.every((each) => each.type === 'read' || !each.idempotent) && this.#chance(0.5) }
  }

  /** A step that nothing beside it is mistaken for. */
  #named(i: number): StepNode | ReadNode {
    const step = this.#chance(0.5) ? this.#plainStep() : this.#read()
    return { ...step, name: this.#moves && step.type === 'step' && step.idempotent ? `one${i} again` : `one${i}`, does: 'ok' }
  }

  #asks(): Node {
    return {
      type: 'asks',
      asks: this.#list(2, 4, () => ({ prompt: this.#pick(['one', 'two']), system: this.#below(2) })),
      shuffled: this.#chance(0.5),
    }
  }

  #maybeKey(p: number): { key?: number } {
    return this.#chance(p) ? { key: this.#below(2) } : {}
  }

  #some<T>(of: readonly T[]): readonly T[] {
    const some = of.filter(() => this.#chance(0.5))
    return some.length > 0 ? some : of
  }

  #list<T>(least: number, most: number, make: (i: number) => T): T[] {
    return Array.from({ length: least + this.#below(most - least + 1) }, (_, i) => make(i))
  }

  #round(share: number): number {
    return Math.floor(share * 1000) / 1000
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
