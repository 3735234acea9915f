/** Drives the reducer in tests as `run/` does in earnest: claims, ends, hands out, and keeps the journal. Used by tests only. */
import { hash } from '../core/hash.ts'
import type { JsonValue } from '../journal/json.ts'
import type { AskedCall, EffectRef, Entry, Outcome, StepKind } from '../journal/entry.ts'
import type { EffectPolicy, GuardVerdict } from '../effects/guard.ts'
import type { Branch } from './branch.ts'
import type { Claim, ModelClaim, Note, Ticket, Verdict } from './claim.ts'
import { History } from './history.ts'
import { MAIN } from './identity.ts'
import { Machine } from './machine.ts'
import { lastOverlapOf, overlapOf } from './overlap.ts'

export interface RequestOptions {
  readonly branch?: string
  readonly tools?: readonly string[]
  readonly system?: string
  readonly name?: string
  readonly responseFormat?: string
  readonly onConfigChange?: ModelClaim['onConfigChange']
}

/** A model request; the conversation is its messages, the first is the user's. */
export function request(messages: string | readonly string[], options: RequestOptions = {}): Claim & { model: ModelClaim } {
  const { branch = MAIN, tools = [], system, name = 'scripted/one', responseFormat, onConfigChange = 'replay' } = options
  const texts = typeof messages === 'string' ? [messages] : messages
  const labels = texts.map((text, i) => [i % 2 === 0 ? 'user' : 'assistant', hash(text)] as const)
  const parts = {
    model: hash(name),
    ...(system !== undefined && { system: hash(system) }),
    ...(responseFormat !== undefined && { responseFormat: hash(responseFormat) }),
    ...Object.fromEntries(tools.map((tool) => [`tool ${tool}`, hash(tool)])),
  }
  return {
    branch,
    kind: 'model',
    name,
    place: { type: 'number' },
    fingerprint: hash(...texts),
    hasInput: true,
    model: {
      config: hash(JSON.stringify(parts)),
      parts,
      prompt: { length: labels.length, keep: 0, added: labels },
      messages: () => labels,
      carriesOn: undefined,
      results: [],
      tools,
      onConfigChange,
    },
  }
}

export interface StepOptions {
  readonly branch?: string
  readonly kind?: StepKind
  readonly key?: string
  readonly input?: string
  /** It has effects and is not idempotent. */
  readonly effect?: boolean | Partial<EffectRef>
  readonly policy?: Partial<EffectPolicy>
}

/** `run.step(name, ...)`. */
export function step(name: string, { branch = MAIN, kind = 'step', key, input, effect, policy }: StepOptions = {}): Claim {
  return {
    branch,
    kind,
    name,
    place: key === undefined ? { type: 'number' } : { type: 'key', key },
    fingerprint: hash(input ?? ''),
    hasInput: input !== undefined,
    ...(effect && { effect: effectOf(name, key ?? '', effect, policy) }),
  }
}

/** A tool's execution. */
export function call(tool: string, callId: string, input = '', { branch = MAIN, effect, policy }: StepOptions = {}): Claim {
  return {
    branch,
    kind: 'tool',
    name: tool,
    place: { type: 'call', callId },
    fingerprint: hash(input),
    hasInput: true,
    ...(effect && { effect: effectOf(tool, '', effect, policy) }),
  }
}

const effectOf = (name: string, key: string, ref: boolean | Partial<EffectRef>, policy: Partial<EffectPolicy> = {}): NonNullable<Claim['effect']> => ({
  name,
  key,
  ...(typeof ref === 'object' && ref),
  policy: { onIncomplete: 'refuse', allowRepeat: false, keyed: false, ...policy },
})

/** A tool call as a response asks for it. */
export const asks = (tool: string, callId: string, input = ''): AskedCall => ({ tool, callId, fingerprint: hash(input) })

export interface Handed {
  readonly id: string
  readonly value: JsonValue
  readonly how: 'replayed' | 'ran'
  /** How often an older record was waited for in vain before. */
  readonly held: number
}

/** One attempt over a journal, which it goes on writing. */
export class Scenario {
  readonly journal: Entry[]
  readonly history = new History()
  readonly machine: Machine
  readonly notes: Note[] = []
  readonly #branches = new Map<string, Branch>()
  readonly #ends = new Map<Ticket, { readonly outcome: Outcome; readonly asked: readonly AskedCall[] }>()

  constructor(journal: readonly Entry[] = []) {
    this.journal = [...journal]
    this.journal.forEach((entry, i) => this.history.apply(entry, i + 1))
    this.machine = new Machine(this.history)
  }

  /** The next attempt, over what this one has written: the first `entries` of it. */
  killed(entries = this.journal.length): Scenario {
    return new Scenario(this.journal.slice(0, entries))
  }

  append(entry: Entry): number {
    this.journal.push(entry)
    this.history.apply(entry, this.journal.length)
    return this.journal.length
  }

  claim(claim: Claim): Verdict {
    const verdict = this.machine.claim(claim)
    if (verdict.type === 'refuse') return verdict
    for (const note of verdict.notes) {
      this.notes.push(note)
      this.append({ ...note, at: 0 })
    }
    if (verdict.type === 'replay') this.#ends.set(verdict.ticket, { outcome: verdict.ticket.record!.end!.outcome, asked: verdict.ticket.record!.asked })
    return verdict
  }

  /** A claim that must not be refused. */
  ask(claim: Claim): Ticket {
    const verdict = this.claim(claim)
    if (verdict.type === 'refuse') throw new Error(`${verdict.code}: ${verdict.message}`)
    return verdict.ticket
  }

  guard(ticket: Ticket): GuardVerdict {
    return this.machine.guard(ticket, { asked: new Set(), taken: { effects: new Set(), decisions: new Set() }, underWay: new Set() })
  }

  /** Written ahead, its code called. */
  start(ticket: Ticket): void {
    this.machine.started(ticket)
    const { effect, fingerprint } = ticket.claim
    if (effect) {
      this.append({
        type: 'step-started',
        step: ticket.ref,
        fingerprint: fingerprint ?? '',
        ...overlapOf(ticket),
        idempotencyKey: ticket.ref.id,
        effect: { name: effect.name, key: effect.key },
        at: 0,
      })
    }
  }

  /** Its end is recorded; it is handed out later. */
  end(ticket: Ticket, value: JsonValue = ticket.ref.id, asked: readonly AskedCall[] = []): void {
    this.endWith(ticket, { type: 'value', value: { json: value } }, asked)
  }

  endWith(ticket: Ticket, outcome: Outcome, asked: readonly AskedCall[] = []): void {
    const { model, effect, fingerprint } = ticket.claim
    const seq = this.append({
      type: 'step-ended',
      step: ticket.ref,
      fingerprint: fingerprint ?? '',
      ...lastOverlapOf(ticket),
      outcome,
      ...(effect && { effect: { name: effect.name, key: effect.key } }),
      ...(model && { config: model.config, prompt: model.prompt }),
      asked,
      tries: 1,
      ms: 1,
      at: 0,
    })
    this.#ends.set(ticket, { outcome, asked })
    this.machine.ended(ticket, seq)
  }

  /** Its end could not be recorded. */
  endUnrecorded(ticket: Ticket, value: JsonValue = ticket.ref.id, asked: readonly AskedCall[] = []): void {
    this.#ends.set(ticket, { outcome: { type: 'value', value: { json: value } }, asked })
    this.append({ type: 'warning', at: 0, code: 'NOT_RECORDED', message: 'the store refused it', step: ticket.ref.id })
    this.machine.ended(ticket, undefined)
  }

  /** Hands out what is due; undefined: nothing is. Gives up waiting for older records at once. */
  handOut(): Handed | undefined {
    for (let held = 0; ; held++) {
      const next = this.machine.next()
      if (next.type === 'nothing') return undefined
      if (next.type === 'hold') {
        if (held > 0) throw new Error(`held back again for ${next.for}`)
        this.machine.giveUp()
        continue
      }
      const ticket = next.item
      const { outcome, asked } = this.#ends.get(ticket)!
      this.#ends.delete(ticket)
      if (ticket.ref.kind === 'model') this.machine.register(ticket, asked)
      const encoded = outcome.type === 'value' ? outcome.value : outcome.error
      const value = 'json' in encoded ? encoded.json : encoded.devalue
      return { id: ticket.ref.id, value, how: ticket.record?.end ? 'replayed' : 'ran', held }
    }
  }

  /** Hands out everything that is due. */
  drain(): Handed[] {
    const all: Handed[] = []
    for (let handed = this.handOut(); handed; handed = this.handOut()) all.push(handed)
    return all
  }

  /** A step from its claim to its caller, nothing beside it. */
  do(claim: Claim, value?: JsonValue, asked: readonly AskedCall[] = []): Handed {
    const ticket = this.ask(claim)
    if (!ticket.record?.end) {
      this.start(ticket)
      this.end(ticket, value, asked)
    }
    const handed = this.drain().find(({ id }) => id === ticket.ref.id)
    if (!handed) throw new Error(`${ticket.ref.id} was not handed out`)
    return handed
  }

  /** Reasons of the divergences so far. */
  get reasons(): string[] {
    return this.notes.flatMap((note) => (note.type === 'superseded' ? [note.reason] : []))
  }

  branch(key: string, parent = MAIN): string {
    const branch = this.machine.openBranch(parent, { key })
    if (branch === undefined) throw new Error(`branch ${key} is open`)
    this.#branches.set(branch.path, branch)
    return branch.path
  }

  close(path: string): void {
    this.machine.closeBranch(this.#branches.get(path)!)
  }
}
