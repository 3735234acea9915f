/** What the journal holds of a run's steps: the records that can answer, where each stands, and what was superseded. */
import { Approvals } from '../effects/approvals.ts'
import { Ledger } from '../effects/ledger.ts'
import type { Encoded } from '../journal/codec.ts'
import type { AskedCall, Entry, Outcome, PromptRecord, StepRef } from '../journal/entry.ts'
import { called, generationOf, MAIN, parentOf, placeOf, regenerated } from './identity.ts'

/** A step as the journal has it: started, ended, or both. */
export interface StepRecord {
  readonly ref: StepRef
  readonly fingerprint: string
  /** Where its code came from, where it says nothing of what it asks: what that had asked for last, and what it went on from, by their turns. */
  readonly after: readonly string[] | undefined
  readonly config: string | undefined
  /** Digests of changed configurations under which it has answered already. */
  readonly accepted: Set<string>
  readonly prompt: PromptRecord | undefined
  readonly asked: readonly AskedCall[]
  /** Steps inside of it that it failed with. */
  readonly failedBy: readonly string[]
  /** Numbers [low, to) of its branch that it overlapped; `to` is Infinity while it has no end. */
  readonly low: number
  readonly to: number
  readonly end: { readonly seq: number; readonly outcome: Outcome } | undefined
  /** Position of its newest entry: its end, else its start. */
  readonly seq: number
}

export class History {
  readonly records = new Map<string, StepRecord>()
  readonly ledger: Ledger
  readonly approvals = new Approvals()
  /** Names of steps of which it was told that only their order tells them apart. */
  readonly toldByOrder = new Set<string>()
  /** Configurations of model requests by digest: hash of each part by name. */
  readonly configs = new Map<string, Readonly<Record<string, string>>>()
  /** By the hash of their links, files that requests have fetched. */
  readonly files = new Map<string, Encoded>()
  /** By path, the paths one segment below it under which there are records. */
  readonly #children = new Map<string, Set<string>>()
  /** Steps whose result may be another one now than the one that later records saw: handed out without a record, or superseded. */
  readonly #changed = new Set<string>()
  /** By place, how often its records were superseded. */
  readonly #generations = new Map<string, number>()

  /** Conversations of a branch whose requests only their configurations tell apart. */
  readonly #toldByConfig = new Set<string>()

  /** Position of the newest entry. */
  newest = 0

  /** `hide`: a text with the names of the secrets that are named now. */
  constructor(hide?: (text: string) => string) {
    this.ledger = new Ledger(hide)
  }

  apply(entry: Entry, seq: number): void {
    this.newest = Math.max(this.newest, seq)
    this.ledger.apply(entry, seq)
    this.approvals.apply(entry, seq)
    switch (entry.type) {
      case 'step-started':
      case 'step-ended': {
        const ended = entry.type === 'step-ended'
        for (const { link, file } of (ended && entry.files) || []) this.files.set(link, file)
        this.#add({
          ref: entry.step,
          fingerprint: entry.fingerprint,
          after: entry.after,
          config: entry.config,
          accepted: new Set(),
          prompt: entry.prompt,
          asked: (ended && entry.asked) || [],
          failedBy: (ended && entry.failedBy) || [],
          low: entry.low ?? entry.step.slot ?? 0,
          to: ended ? (entry.to ?? (entry.step.slot ?? 0) + 1) : Infinity,
          end: ended ? { seq, outcome: entry.outcome } : undefined,
          seq,
        })
        break
      }
      case 'step-entered':
        this.#add({
          ref: entry.step, fingerprint: entry.fingerprint, after: entry.after, config: undefined, accepted: new Set(), prompt: undefined, asked: [], failedBy: [],
          low: entry.low ?? entry.step.slot ?? 0, to: Infinity, end: undefined, seq,
        })
        break
      case 'superseded':
        for (const id of entry.ids) this.#remove(id)
        for (const id of entry.reopened ?? []) this.#reopen(id)
        for (const id of [...entry.ids, ...(entry.reopened ?? [])]) this.#changed.add(placeOf(id))
        break
      case 'warning': {
        const told = entry.code === 'SAME_CONVERSATION' && entry.step !== undefined ? this.records.get(entry.step) : undefined
        if (told) this.#toldByConfig.add(conversationOf(told))
        if (entry.code === 'TOLD_BY_ORDER' && entry.step !== undefined) this.toldByOrder.add(this.records.get(entry.step)?.ref.name ?? '')
        if ((entry.code === 'NOT_RECORDED' || entry.code === 'NOT_FINGERPRINTED') && entry.step !== undefined) this.#changed.add(placeOf(entry.step))
        break
      }
      case 'config-changed':
        this.records.get(entry.step)?.accepted.add(entry.config)
        break
      case 'config':
        this.configs.set(entry.digest, entry.parts)
        break
    }
  }

  /** The fingerprint of the arguments that a response asked a call with, before the schema of its tool made something of them; undefined: none did. */
  askedWith(call: string): string | undefined {
    const parent = parentOf(call)
    const asked = parent === undefined ? [] : (this.records.get(parent)?.asked ?? [])
    return asked.find(({ callId }, i) => called(parent!, callId, asked.slice(0, i).filter((other) => other.callId === callId).length) === placeOf(call))?.fingerprint
  }

  /** The path that stands at a place now: a place whose records were superseded gets a new path. */
  current(place: string): string {
    return regenerated(place, this.#generations.get(place) ?? 0)
  }

  /** Whether nothing can be asked for under this path any more: it, or something that it stands in, was superseded. */
  isGone(path: string): boolean {
    for (let at: string | undefined = path; at !== undefined && at !== MAIN; at = parentOf(at)) if (this.current(placeOf(at)) !== at) return true
    return false
  }

  /** Whether another result than that of its record may have been handed out for a step before. */
  isChanged(id: string): boolean {
    return this.#changed.has(placeOf(id))
  }

  /** Whether requests of other code ask the conversation of a record in other configurations: one in another one is another request, not that one changed. */
  isToldByConfig(record: StepRecord): boolean {
    return this.#toldByConfig.has(conversationOf(record))
  }

  /** Paths one segment below `path` under which there are records. */
  childrenOf(path: string): readonly string[] {
    return [...(this.#children.get(path) ?? [])]
  }

  /** Whether there are records inside of a step. */
  hasInside(path: string): boolean {
    return (this.#children.get(path)?.size ?? 0) > 0
  }

  /** Records of the steps of a branch that are known by number. */
  *numberedOf(branch: string): Iterable<StepRecord & { ref: { slot: number } }> {
    for (const child of this.#children.get(branch) ?? []) {
      const record = this.records.get(child)
      if (record?.ref.slot !== undefined) yield record as StepRecord & { ref: { slot: number } }
    }
  }

  #add(record: StepRecord): void {
    this.records.set(record.ref.id, record)
    for (let path = record.ref.id, parent = parentOf(path); parent !== undefined; path = parent, parent = parentOf(path)) {
      let siblings = this.#children.get(parent)
      if (!siblings) this.#children.set(parent, (siblings = new Set()))
      if (siblings.has(path)) break
      siblings.add(path)
    }
  }

  #reopen(id: string): void {
    const record = this.records.get(id)
    if (record) this.records.set(id, { ...record, end: undefined, failedBy: [] })
  }

  #remove(id: string): void {
    const place = placeOf(id)
    this.#generations.set(place, Math.max(this.#generations.get(place) ?? 0, generationOf(id) + 1))
    this.#children.get(parentOf(id) ?? MAIN)?.delete(id)
    for (const path of [...this.#below(id)]) {
      this.records.delete(path)
      this.#children.delete(path)
    }
  }

  /** Ids of the records at and below a path. */
  *recordsBelow(id: string): Iterable<string> {
    for (const path of this.#below(id)) if (this.records.has(path)) yield path
  }

  *#below(id: string): Iterable<string> {
    yield id
    for (const child of this.#children.get(id) ?? []) yield* this.#below(child)
  }

  /** Records with an end that a program can still ask for, oldest first: what lies inside a step that answers as a whole is not asked for. */
  expected(): StepRecord[] {
    const ended = [...this.records.values()].filter((record) => record.end)
    // A model step holds the calls that it asked for, but they answer by themselves.
    const whole = new Set(ended.filter((r) => r.ref.kind !== 'model' && this.#children.has(r.ref.id)).map((r) => r.ref.id))
    return ended
      .filter((record) => !insideOf(record.ref, whole))
      .sort((a, b) => a.end!.seq - b.end!.seq)
  }
}

const conversationOf = ({ ref, fingerprint }: StepRecord): string => JSON.stringify([ref.branch, fingerprint])

function insideOf(ref: StepRef, whole: ReadonlySet<string>): boolean {
  for (let path = ref.branch; path !== MAIN; path = parentOf(path) ?? MAIN) if (whole.has(path)) return true
  return false
}
