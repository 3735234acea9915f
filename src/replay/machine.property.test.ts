import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Claim, Ticket } from './claim.ts'
import { MAIN } from './identity.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

/** What a program does, one after the other, in one branch. */
type Op =
  /** Steps and requests without tools; each waits for the one before. */
  | { readonly type: 'request' | 'step' | 'read' | 'keyed'; readonly text: string }
  /** Requests without tools that overlap, one prompt or several, different instructions. */
  | { readonly type: 'together'; readonly requests: readonly { readonly text: string; readonly system: string }[] }
  /** Model, tools in parallel, model ...; call ids repeat. */
  | { readonly type: 'loop'; readonly tools: readonly number[] }
  | { readonly type: 'branches'; readonly programs: readonly (readonly Op[])[] }

const { program } = fc.letrec<{ program: Op[]; op: Op }>((tie) => {
  const text = fc.constantFrom('a', 'b')
  return {
    program: fc.array(tie('op'), { minLength: 1, maxLength: 4 }),
    op: fc.oneof(
      { maxDepth: 2 },
      fc.record({ type: fc.constantFrom('request' as const, 'step' as const, 'read' as const, 'keyed' as const), text }),
      fc.record({ type: fc.constant('together' as const), requests: fc.array(fc.record({ text, system: text }), { minLength: 2, maxLength: 4 }) }),
      fc.record({ type: fc.constant('loop' as const), tools: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }) }),
      fc.record({ type: fc.constant('branches' as const), programs: fc.array(tie('program'), { minLength: 2, maxLength: 3 }) }),
    ),
  }
})

/** What a line of work waits for: steps, or other lines. */
type Wait = { readonly ask: Claim; readonly asked?: readonly ReturnType<typeof asks>[] } | { readonly all: readonly Line[] }
type Line = Generator<Wait, unknown, unknown>

function* run(driver: Driver, ops: readonly Op[], branch: string): Generator<Wait, void, unknown> {
  for (const [i, op] of ops.entries()) {
    switch (op.type) {
      case 'request':
        yield { ask: request(op.text, { branch }) }
        break
      case 'step':
        yield { ask: step('s', { branch, input: op.text }) }
        break
      case 'read':
        yield { ask: step('now', { branch, kind: 'read' }) }
        break
      case 'keyed':
        yield { ask: step('s', { branch, key: op.text }) }
        break
      case 'together':
        yield { all: driver.shuffled(op.requests).map(({ text, system }) => one({ ask: request(text, { branch, system, onConfigChange: driver.onConfigChange }) })) }
        break
      case 'loop': {
        const messages = ['go']
        for (const count of op.tools) {
          const calls = Array.from({ length: count }, (_, k) => asks('t', `call_${k}`, 'same'))
          yield { ask: request(messages, { branch, tools: ['t'] }), asked: calls }
          const results = yield { all: calls.map(({ callId }) => one({ ask: call('t', callId, 'same', { branch }) })) }
          messages.push(JSON.stringify(results))
        }
        break
      }
      case 'branches': {
        const lines = op.programs.map((inner, k) => inBranch(driver, inner, branch, `${i}-${k}`))
        yield { all: lines }
        break
      }
    }
  }
}

function* one(wait: Wait): Line {
  return yield wait
}

function* inBranch(driver: Driver, ops: readonly Op[], parent: string, key: string): Generator<Wait, void, unknown> {
  const path = driver.scenario.branch(key, parent)
  yield* run(driver, ops, path)
  driver.scenario.close(path)
}

interface Running {
  readonly line: Line
  readonly done: (value: unknown) => void
  input: unknown
}

const identity = ({ kind, name, fingerprint, model }: Claim): string => `${kind} ${name} ${fingerprint} ${model?.config}`

/** Advances lines, ends live steps and hands out results in an order that `choose` picks. */
class Driver {
  readonly scenario: Scenario
  readonly replayed: string[] = []
  /** Claims made at one moment are made in any order. */
  readonly #anyOrder: boolean
  readonly #choose: (n: number) => number
  #ready: Running[] = []
  #live: { readonly ticket: Ticket; readonly asked: readonly ReturnType<typeof asks>[] }[] = []
  readonly #waiting = new Map<string, { readonly claim: Claim; readonly done: (value: unknown) => void }>()
  static #serial = 0

  /**
   * Requests that differ in their configuration alone and did not overlap before the kill look like one request under a
   * changed configuration when they are asked for in another order: whoever does that has to say `diverge`.
   */
  get onConfigChange(): 'replay' | 'diverge' {
    return this.#anyOrder ? 'diverge' : 'replay'
  }

  constructor(scenario: Scenario, choose: (n: number) => number, anyOrder: boolean) {
    this.scenario = scenario
    this.#choose = choose
    this.#anyOrder = anyOrder
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items]
    return this.#anyOrder ? items.map(() => left.splice(this.#choose(left.length), 1)[0]!) : left
  }

  drive(ops: readonly Op[]): void {
    let finished = false
    this.#ready.push({ line: run(this, ops, MAIN), done: () => (finished = true), input: undefined })
    for (let turns = 0; !finished; turns++) {
      if (turns > 20_000) throw new Error('no end')
      const choices = [
        ...(this.#ready.length > 0 ? [() => this.#advance()] : []),
        ...(this.#live.length > 0 ? [() => this.#end()] : []),
        ...(this.#waiting.size > 0 ? [() => this.#handOut()] : []),
      ]
      if (choices.length === 0) throw new Error('deadlock')
      choices[this.#choose(choices.length)]!()
    }
  }

  #advance(): void {
    const at = this.#anyOrder ? this.#choose(this.#ready.length) : 0
    const [running] = this.#ready.splice(at, 1)
    const { line, done, input } = running!
    const next = line.next(input)
    if (next.done) return done(next.value)
    if ('all' in next.value) return this.#join(next.value.all, (values) => this.#ready.push({ line, done, input: values }))
    const { ask, asked = [] } = next.value
    const ticket = this.scenario.ask(ask)
    const { id } = ticket.ref
    expect(this.#waiting.has(id), `${id} answers one claim`).toBe(false)
    expect(this.replayed).not.toContain(id)
    if (ticket.record?.end) {
      const { ref, fingerprint, config } = ticket.record
      expect(`${ref.kind} ${ref.name} ${fingerprint} ${config}`).toBe(identity(ask))
      this.replayed.push(id)
    } else this.#live.push({ ticket, asked })
    this.#waiting.set(id, { claim: ask, done: (value) => this.#ready.push({ line, done, input: value }) })
  }

  #join(lines: readonly Line[], all: (values: unknown[]) => void): void {
    const values: unknown[] = Array.from({ length: lines.length })
    let left = lines.length
    if (left === 0) return all(values)
    for (const [i, line] of lines.entries()) {
      const done = (value: unknown): void => {
        values[i] = value
        if (--left === 0) all(values)
      }
      this.#ready.push({ line, done, input: undefined })
    }
  }

  #end(): void {
    const [live] = this.#live.splice(this.#choose(this.#live.length), 1)
    const { ticket, asked } = live!
    this.scenario.start(ticket)
    this.scenario.end(ticket, `${identity(ticket.claim)} @${Driver.#serial++}`, asked)
  }

  #handOut(): void {
    const handed = this.scenario.handOut()
    if (!handed) return
    const { claim, done } = this.#waiting.get(handed.id)!
    this.#waiting.delete(handed.id)
    expect(String(handed.value).startsWith(`${identity(claim)} @`), 'the answer is to what was asked').toBe(true)
    done(handed.value)
  }
}

/** A number from 0 to n - 1, from a seed. */
function chooser(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

const ended = (scenario: Scenario): string[] => scenario.journal.flatMap((entry) => (entry.type === 'step-ended' ? [entry.step.id] : []))

const hasOverlap = (ops: readonly Op[]): boolean =>
  ops.some((op) => op.type === 'together' || (op.type === 'branches' && op.programs.some(hasOverlap)))

const part = fc.double({ min: 0, max: 1, noNaN: true })
const schedules = [fc.nat(), fc.nat(), fc.nat()] as const

/** Runs the program, killed after a part of its journal, again over what is left, and so on; each time in another order. */
function attempts(ops: readonly Op[], seeds: readonly number[], cuts: readonly number[], anyOrder: boolean, check: (driver: Driver, recorded: readonly string[]) => void): void {
  let scenario = new Scenario()
  for (const [i, seed] of seeds.entries()) {
    const recorded = ended(scenario)
    const driver = new Driver(scenario, chooser(seed), anyOrder)
    driver.drive(ops)
    const all = ended(scenario)
    expect(new Set(all).size, 'no id is recorded twice').toBe(all.length)
    check(driver, recorded)
    scenario = scenario.killed(Math.round((cuts[i] ?? 1) * scenario.journal.length))
  }
}

const replaysAll = ({ replayed, scenario }: Driver, recorded: readonly string[]): void => {
  expect(replayed.toSorted()).toEqual(recorded.toSorted())
  expect(scenario.reasons).toEqual([])
}

const options = { numRuns: Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 100), seed: 20261129 }

describe('the property behind R1 and R4', () => {
  it('no step ever gets the answer of another, no record answers twice, and every run ends, whatever the order of things', () => {
    fc.assert(fc.property(program, ...schedules, part, part, (ops, a, b, c, cut, cutAgain) => {
      attempts(ops, [a, b, c], [cut, cutAgain], true, ({ replayed }, recorded) => expect(recorded).toEqual(expect.arrayContaining(replayed)))
    }), options)
  })

  it('all that was recorded is replayed, and nothing diverges, when a branch asks in the same order, however long things take', () => {
    fc.assert(fc.property(program, ...schedules, part, part, (ops, a, b, c, cut, cutAgain) => {
      attempts(ops, [a, b, c], [cut, cutAgain], false, replaysAll)
    }), options)
  })

  it('programs in which what runs side by side is in branches replay wholly in any order', () => {
    const sequential = program.filter((ops) => !hasOverlap(ops))
    fc.assert(fc.property(sequential, ...schedules, part, part, (ops, a, b, c, cut, cutAgain) => {
      attempts(ops, [a, b, c], [cut, cutAgain], true, replaysAll)
    }), options)
  })
})
