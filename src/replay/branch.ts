/** A branch while it is driven: its numbers, what is open in it, and the calls that its responses asked for. */
import type { AskedCall, StepKind } from '../journal/entry.ts'
import type { Claim, Ticket } from './claim.ts'
import { groupOf, groupsOf, type Group } from './overlap.ts'
import type { History, StepRecord } from './history.ts'
import { called, isCalled, keyed, parentOf, slotOf } from './identity.ts'

interface Asked extends AskedCall {
  readonly id: string
}

export class Branch {
  readonly path: string
  readonly parent: Branch | undefined
  /** Nothing was recorded in it before it was opened. */
  readonly isNew: boolean
  /** What its key is known by in its parent; undefined: it is the main line, or the inside of a step. */
  readonly place: string | undefined
  /** The step that it lies in. */
  readonly around: Ticket | undefined
  /** Event of the machine at which it was opened. */
  readonly openedAt: number
  /** The next number. */
  counter = 0
  /** Claimed steps whose callers still wait. */
  readonly open = new Set<Ticket>()
  /** All steps claimed in it, in order. */
  readonly tickets: Ticket[] = []
  /** Records of a group are matched among themselves; computed from the journal when the branch is opened. */
  readonly #groups: readonly Group[]
  readonly #recordsBySlot = new Map<number, StepRecord>()
  /** By what they ask for, the records. */
  readonly #recordsByAsk = new Map<string, StepRecord[]>()
  /** Numbers that left no record of their own, and inside of which there are some: whether those are calls that a response asked for. */
  readonly #insides = new Map<number, boolean>()
  /** By fingerprint, the configurations in which it was asked. */
  readonly #configs = new Map<string, Set<string | undefined>>()
  readonly #lastSlot: number
  readonly #claimedSlots = new Set<number>()
  /** No number below it is free. */
  #lowestFree = 0
  /** How many numbers of which the journal knows were not claimed. */
  #left: number
  /** By what is asked, how often it was, and which of these may have taken effect and failed. */
  readonly #asks = new Map<string, { count: number; readonly open: number[] }>()
  /** By place, how often it was opened, whether it is open, and the last that was opened there and says nothing more of itself. */
  readonly #keyed = new Map<string, { count: number; open: boolean; last?: Ticket | Branch }>()
  /** By call id, the calls of each response that were not claimed, the newest response last. */
  readonly #asked = new Map<string, Asked[][]>()
  /** By call id, the call that was claimed last. */
  readonly #taken = new Map<string, string>()
  /** By conversation, the response that led to effects. */
  readonly #effectful = new Map<string, string>()
  /** By kind and name, the step that says nothing of what it asks and was asked for last. */
  readonly #blind = new Map<string, Ticket>()
  /** By conversation, the request that asked it last, and in which configuration. */
  readonly #conversations = new Map<string, { readonly ticket: Ticket; readonly config: string }>()
  /** Conversations of which it was told that only the configuration tells their requests apart. */
  readonly toldByConfig = new Set<string>()
  /** A call was made in it that no response had asked for. */
  hasUnasked = false
  /** A result was seen in it of a call that was asked for and never made through its step. */
  hasUnrecorded = false
  /** Replay has ended in it. */
  diverged = false
  /**
   * Position of the newest result handed out in it, or before it was opened, that may not be the one that was handed out there
   * before: a record from before that position may depend on the other one. 0: all are the same.
   */
  changedAt: number
  /** When it ended, in events of the machine; 0: it is open. */
  endedAt = 0

  constructor(path: string, history: History, { parent, place, around, openedAt }: Pick<Branch, 'parent' | 'place' | 'around' | 'openedAt'>) {
    this.path = path
    this.parent = parent
    this.place = place
    this.around = around
    this.openedAt = openedAt
    this.changedAt = parent?.changedAt ?? 0
    this.isNew = !history.hasInside(path)
    const records = [...history.numberedOf(path)]
    let lastSlot = -1
    for (const child of history.childrenOf(path)) {
      const slot = slotOf(child)
      if (slot === undefined || history.records.has(child)) continue
      this.#insides.set(slot, history.childrenOf(child).some(isCalled))
      lastSlot = Math.max(lastSlot, slot)
    }
    for (const record of records) {
      this.#recordsBySlot.set(record.ref.slot, record)
      const ask = askOf(record.ref.kind, record.ref.name, record.fingerprint)
      const alike = this.#recordsByAsk.get(ask)
      if (alike) alike.push(record)
      else this.#recordsByAsk.set(ask, [record])
      const configs = this.#configs.get(record.fingerprint)
      if (configs) configs.add(record.config)
      else this.#configs.set(record.fingerprint, new Set([record.config]))
      lastSlot = Math.max(lastSlot, record.ref.slot)
    }
    this.#lastSlot = lastSlot
    this.#left = records.length + this.#insides.size
    this.#groups = groupsOf(records.map(({ ref: { slot }, low, to }) => ({ slot, low, to })))
  }

  /** It is the inside of a tool call, or lies there. */
  get isInsideCall(): boolean {
    return this.path.split('/').some((segment) => segment.startsWith('c:'))
  }

  get #isInside(): boolean {
    return this.place === undefined
  }

  /** Nothing more can be asked for in it: it has ended, or what it stands in. A step that was asked for in a branch goes on behind the branch's end, with all that is inside of it (B10). */
  get isOver(): boolean {
    return this.endedAt > 0 || (this.parent !== undefined && (this.#isInside ? this.parent.isAbandoned : this.parent.isOver))
  }

  /** A step around it has ended: nobody waits for what was asked for in it. */
  get isAbandoned(): boolean {
    return (this.endedAt > 0 && this.#isInside) || (this.parent?.isAbandoned ?? false)
  }

  /** The numbers that the step with the number that was just claimed overlaps so far. Those that are open overlap it from now on. */
  overlap(slot: number | undefined): { low: number; high: number } {
    if (slot === undefined) return { low: 0, high: 0 }
    const range = { low: Math.min(slot, this.counter - 1), high: slot }
    for (const other of this.open) {
      if (other.ref.slot === undefined) continue
      range.low = Math.min(range.low, other.ref.slot)
      range.high = Math.max(range.high, other.ref.slot)
      other.low = Math.min(other.low, slot)
      other.high = Math.max(other.high, slot)
    }
    return range
  }

  /** The record in the place of the next numbered step. */
  get inPlace(): StepRecord | undefined {
    return this.diverged || this.#claimedSlots.has(this.counter) ? undefined : this.#recordsBySlot.get(this.counter)
  }

  /** Records that the next numbered step can match: the one in its place first, then those that overlapped it. */
  candidates(): StepRecord[] {
    if (this.diverged || this.#left === 0) return []
    const { inPlace } = this
    const found = inPlace ? [inPlace] : []
    for (const slot of this.#inReach()) {
      const record = this.#recordsBySlot.get(slot)
      if (record && record !== inPlace && !this.#claimedSlots.has(slot)) found.push(record)
    }
    return found
  }

  /** A number in reach of the next numbered step that nobody has claimed and that has no record, but may have been of such a step; undefined: none. */
  hole(kind: StepKind): number | undefined {
    if (this.diverged || this.#left === 0) return undefined
    for (const slot of this.#inReach()) if (!this.#claimedSlots.has(slot) && !this.#recordsBySlot.has(slot) && this.mayHold(slot, kind)) return slot
    return undefined
  }

  /** Whether what lies inside a number that left no record of its own can lie in a step of this kind: only a model step holds the calls that it asked for. */
  mayHold(slot: number, kind: StepKind): boolean {
    const holdsCalls = this.diverged ? undefined : this.#insides.get(slot)
    return holdsCalls === undefined || holdsCalls === (kind === 'model')
  }

  /** Records of the very same ask that nobody has claimed: a step that fills a hole may be one of those, at another turn. */
  rivalsOf({ kind, name, fingerprint }: Claim): readonly string[] {
    if (this.diverged || fingerprint === null || this.#left === 0) return []
    return (this.#recordsByAsk.get(askOf(kind, name, fingerprint)) ?? []).filter((record) => !this.isClaimed(record)).map((record) => record.ref.id)
  }

  isClaimed({ ref: { slot } }: StepRecord): boolean {
    return slot !== undefined && this.#claimedSlots.has(slot)
  }

  /** Whether all steps that overlapped the next numbered one left a record. */
  get isWhole(): boolean {
    const { start, end } = groupOf(this.#groups, this.counter)
    for (let slot = start; slot < end; slot++) if (!this.#recordsBySlot.has(slot)) return false
    return true
  }

  /** The next number, or where that is claimed the lowest one that is not. */
  free(): number {
    if (!this.#claimedSlots.has(this.counter)) return this.counter
    while (this.#claimedSlots.has(this.#lowestFree)) this.#lowestFree++
    return this.#lowestFree
  }

  claimSlot(slot: number): void {
    this.#claimedSlots.add(slot)
    if (this.#recordsBySlot.has(slot) || this.#insides.has(slot)) this.#left--
    this.counter++
  }

  /** How many configurations one conversation was asked in among the records that overlapped the next number. */
  configsInReach(fingerprint: string): number {
    const configs = new Set<string | undefined>()
    for (const slot of this.#inReach()) {
      const record = this.#recordsBySlot.get(slot)
      if (record?.fingerprint === fingerprint) configs.add(record.config)
    }
    return configs.size
  }

  /** The step of this kind and name that was asked for last in this drive, and says nothing of what it asks. */
  newestBlind({ kind, name }: Claim): Ticket | undefined {
    return this.#blind.get(`${kind} ${name}`)
  }

  noteBlind(ticket: Ticket): void {
    this.#blind.set(`${ticket.ref.kind} ${ticket.ref.name}`, ticket)
  }

  noteRequest(ticket: Ticket): void {
    const { fingerprint, model } = ticket.claim
    if (model && fingerprint !== null) this.#conversations.set(fingerprint, { ticket, config: model.config })
  }

  /** The request that asked the same conversation last, where that was in another configuration, and its record does not say that one at this number overlapped it; told of once. */
  otherwiseConfigured({ fingerprint, model }: Claim, slot: number): Ticket | undefined {
    const former = fingerprint === null || this.toldByConfig.has(fingerprint) ? undefined : this.#conversations.get(fingerprint)
    return former && former.config !== model?.config && slot >= former.ticket.to ? former.ticket : undefined
  }

  /** Whether the branch has a record of the conversation in this configuration. */
  wasAsked(fingerprint: string, config: string): boolean {
    return this.#configs.get(fingerprint)?.has(config) ?? false
  }

  /** The response of a model step led to effects: who asks the same again probably did not mean to. */
  noteEffectOf(modelStep: string): void {
    const response = this.tickets.findLast((ticket) => ticket.ref.id === modelStep)
    if (response?.claim.fingerprint) this.#effectful.set(response.claim.fingerprint, modelStep)
  }

  /** The earlier step that asked for the same conversation, and whose response led to effects. */
  effectfulTwin(fingerprint: string | null): string | undefined {
    return fingerprint === null ? undefined : this.#effectful.get(fingerprint)
  }

  /** Counts what is asked for: gives how often the same was before, or which of those it is: one that may have taken effect, and failed. */
  countAsk(claim: Claim): number {
    const ask = contentOf(claim)
    const asked = this.#asks.get(ask) ?? { count: 0, open: [] }
    this.#asks.set(ask, asked)
    return asked.open.shift() ?? asked.count++
  }

  /** It may have taken effect, and has failed: who asks for the same again asks for this one. */
  askedInVain(claim: Claim, occurrence: number): void {
    this.#asks.get(contentOf(claim))?.open.push(occurrence)
  }

  isOpenKey(place: string): boolean {
    return this.#keyed.get(place)?.open ?? false
  }

  occurrenceOf(place: string): number {
    return this.#keyed.get(place)?.count ?? 0
  }

  openKey(place: string): void {
    this.#keyed.set(place, { count: this.occurrenceOf(place) + 1, open: true })
  }

  /** What says nothing of itself and was opened last in a place. */
  noteBlindly(place: string, opened: Ticket | Branch): void {
    this.#keyed.get(place)!.last = opened
  }

  lastBlindly(place: string): Ticket | Branch | undefined {
    return this.#keyed.get(place)?.last
  }

  closeKey(place: string): void {
    const keyed = this.#keyed.get(place)
    if (keyed) keyed.open = false
  }

  /** A model response was handed out: the calls that it asks for can be claimed. */
  register(step: string, calls: readonly AskedCall[]): void {
    for (const [callId, same] of Map.groupBy(calls, (call) => call.callId)) {
      const asked = same.map((call, occurrence) => ({ ...call, id: called(step, callId, occurrence) }))
      const before = this.#asked.get(callId)
      if (before) before.push(asked)
      else this.#asked.set(callId, [asked])
    }
  }

  /**
   * The id of the asked call that an execution belongs to, which is claimed with that: of the newest response that asked
   * for its id. A repair may have given it another tool than the one that was asked for.
   */
  takeAsked(callId: string, tool: string, fingerprint: string | null, recordOf: (id: string) => StepRecord | undefined): string | undefined {
    const found = this.#findAsked(callId, tool, fingerprint, recordOf)
    if (!found) return undefined
    const { responses, calls, call } = found
    calls.splice(calls.indexOf(call), 1)
    if (calls.length === 0) responses.splice(responses.indexOf(calls), 1)
    if (responses.length === 0) this.#asked.delete(callId)
    this.#taken.set(callId, call.id)
    return call.id
  }

  #findAsked(callId: string, tool: string, fingerprint: string | null, recordOf: (id: string) => StepRecord | undefined): { responses: Asked[][]; calls: Asked[]; call: Asked } | undefined {
    const responses = this.#asked.get(callId)
    if (!responses) return undefined
    const calls = responses.findLast((some) => some.some((call) => call.tool === tool)) ?? responses.at(-1)!
    const ofTool = calls.filter((call) => call.tool === tool)
    return { responses, calls, call: theCall(ofTool.length > 0 ? ofTool : calls, fingerprint, recordOf) }
  }

  /** Whether the journal has a call that can be claimed, and that was asked for in these words, as made or started: its record answers, or it is guarded. */
  isRecorded(callId: string, tool: string, fingerprint: string | null, history: History): boolean {
    const recordOf = (place: string): StepRecord | undefined => history.records.get(history.current(place))
    const place = this.#findAsked(callId, tool, fingerprint, recordOf)?.call.id
    if (place === undefined) return false
    const [id, record] = [history.current(place), recordOf(place)]
    if (record && record.ref.name !== tool) return false
    if (history.ledger.effects.get(id)?.state === 'not-done') return false
    return this.isReplayed(parentOf(place)!, record) ? record !== undefined || history.hasInside(id) : record?.fingerprint === fingerprint
  }

  /** The record of the step that this name and key would be claimed with now. */
  nextKeyed(name: string, key: string, history: History): StepRecord | undefined {
    return history.records.get(history.current(keyed(this.path, 's', name, key, this.occurrenceOf(keyed(this.path, 's', name, key, 0)))))
  }

  /**
   * Whether the response of a model step is the recorded one, and `record` (of a call) came after it: another response, also one before it
   * that left no record, may have asked for something else under the same id.
   */
  isReplayed(step: string, record?: StepRecord): boolean {
    const response = this.tickets.findLast((ticket) => ticket.ref.id === step)?.record?.end
    return response !== undefined && (record === undefined || response.seq < record.seq)
  }

  /** The fingerprint of the arguments that a call was asked with, which is not claimed yet: by the newest response that asks for its id. */
  askedWith(callId: string, tool: string): string | undefined {
    const calls = (this.#asked.get(callId) ?? []).flat().filter((call) => call.tool === tool)
    return calls.at(-1)?.fingerprint
  }

  /** The call of this id that was claimed last: it was asked for, and no newer response asks for the id again. */
  takenCall(callId: string): string | undefined {
    return this.#taken.get(callId)
  }

  /** Whether a call of this id was asked for, and is not claimed. */
  isUnclaimed(callId: string): boolean {
    return this.#asked.has(callId)
  }

  /** The numbers of the group that the next number lies in. */
  *#inReach(): Iterable<number> {
    const { start, end } = groupOf(this.#groups, this.counter)
    // Behind a step that has no end there are numbers for any that overlapped it and left no record.
    const until = end === Infinity ? Math.max(this.#lastSlot, start) + this.counter + 2 : end
    for (let slot = start; slot < until; slot++) yield slot
  }
}

/** What makes two asks of a branch the same to the outside world. */
const contentOf = ({ kind, name, place, content, fingerprint }: Claim): string => JSON.stringify([kind, name, place.type === 'key' ? place.key : null, content ?? fingerprint])

const askOf = (kind: string, name: string, fingerprint: string | null): string => JSON.stringify([kind, name, fingerprint])

/**
 * Where one response repeats an id: the call that was asked with the arguments executed, else the one that was recorded with
 * them. Else one that was not recorded, since a recorded one would be another's result; else the first.
 */
function theCall(calls: readonly Asked[], fingerprint: string | null, recordOf: (id: string) => StepRecord | undefined): Asked {
  return (
    calls.find((call) => call.fingerprint === fingerprint) ??
    calls.find((call) => recordOf(call.id)?.fingerprint === fingerprint) ??
    calls.find((call) => !recordOf(call.id)) ??
    calls[0]!
  )
}
