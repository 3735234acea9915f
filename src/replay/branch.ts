/** A branch while it is driven: its numbers, what is open in it, and the calls that its responses asked for. */
import type { AskedCall } from '../journal/entry.ts'
import type { Ticket } from './claim.ts'
import { groupOf, groupsOf, type Group } from './overlap.ts'
import type { History, StepRecord } from './history.ts'
import { called } from './identity.ts'

interface Asked extends AskedCall {
  readonly id: string
  claimed: boolean
}

export class Branch {
  readonly path: string
  readonly parent: Branch | undefined
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
  readonly #recordsByFingerprint = new Map<string, StepRecord[]>()
  readonly #lastSlot: number
  readonly #claimedSlots = new Set<number>()
  /** By place, how often it was opened, and whether it is open. */
  readonly #keyed = new Map<string, { count: number; open: boolean }>()
  #asked: { readonly step: string; readonly calls: Asked[] }[] = []
  /** Replay has ended in it. */
  diverged = false
  /** A result that was not replayed was handed out in it, or before it was opened. */
  live: boolean
  ended = false

  constructor(path: string, parent: Branch | undefined, history: History, openedAt: number) {
    this.path = path
    this.parent = parent
    this.openedAt = openedAt
    this.live = parent?.live ?? false
    const records = [...history.numberedOf(path)]
    let lastSlot = -1
    for (const record of records) {
      this.#recordsBySlot.set(record.ref.slot, record)
      const sharing = this.#recordsByFingerprint.get(record.fingerprint)
      if (sharing) sharing.push(record)
      else this.#recordsByFingerprint.set(record.fingerprint, [record])
      lastSlot = Math.max(lastSlot, record.ref.slot)
    }
    this.#lastSlot = lastSlot
    this.#groups = groupsOf(records)
  }

  /** It is the inside of a tool call. */
  get isInsideCall(): boolean {
    return this.path.slice(this.path.lastIndexOf('/') + 1).startsWith('c:')
  }

  get lowestOpen(): number {
    let low = this.counter
    for (const ticket of this.open) if (ticket.ref.slot !== undefined && ticket.ref.slot < low) low = ticket.ref.slot
    return low
  }

  /** Records that the next numbered step can match: the one in its place first, then those that overlapped it. */
  candidates(): StepRecord[] {
    if (this.diverged) return []
    const found: StepRecord[] = []
    for (const slot of this.#inReach()) {
      const record = this.#recordsBySlot.get(slot)
      if (record && !this.#claimedSlots.has(slot)) slot === this.counter ? found.unshift(record) : found.push(record)
    }
    return found
  }

  /** A number in reach of the next numbered step that nobody has claimed and that has no record; undefined: none. */
  hole(): number | undefined {
    for (const slot of this.#inReach()) if (!this.#claimedSlots.has(slot) && !this.#recordsBySlot.has(slot)) return slot
    return undefined
  }

  /** The lowest number that nobody has claimed. */
  free(): number {
    if (!this.#claimedSlots.has(this.counter)) return this.counter
    for (let slot = 0; ; slot++) if (!this.#claimedSlots.has(slot)) return slot
  }

  claimSlot(slot: number): void {
    this.#claimedSlots.add(slot)
    this.counter++
  }

  /** Records of the branch that ask for the same conversation. */
  sharing(fingerprint: string): readonly StepRecord[] {
    return this.#recordsByFingerprint.get(fingerprint) ?? []
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

  closeKey(place: string): void {
    const keyed = this.#keyed.get(place)
    if (keyed) keyed.open = false
  }

  /** A model response was handed out: the calls that it asks for can be claimed. */
  register(step: string, calls: readonly AskedCall[]): void {
    const counts = new Map<string, number>()
    const asked = calls.map((call) => {
      const occurrence = counts.get(call.callId) ?? 0
      counts.set(call.callId, occurrence + 1)
      return { ...call, id: called(step, call.callId, occurrence), claimed: false }
    })
    if (asked.length > 0) this.#asked.push({ step, calls: asked })
  }

  /**
   * The asked call that an execution belongs to: of the newest response that asked for its id. Where one response
   * repeats the id, the call whose recorded or asked arguments are those executed, else the first that is left.
   */
  findAsked(callId: string, tool: string, fingerprint: string | null, recorded: (id: string) => string | undefined): Asked | undefined {
    this.#asked = this.#asked.filter(({ calls }) => calls.some((call) => !call.claimed))
    for (const { calls } of this.#asked.toReversed()) {
      const left = calls.filter((call) => !call.claimed && call.callId === callId && call.tool === tool)
      const found = left.find((c) => recorded(c.id) === fingerprint) ?? left.find((c) => c.fingerprint === fingerprint) ?? left[0]
      if (found) return found
    }
    return undefined
  }

  /** The numbers of the group that the next number lies in. */
  *#inReach(): Iterable<number> {
    const { start, end } = groupOf(this.#groups, this.counter)
    for (let slot = start; slot < end && slot <= Math.max(this.#lastSlot, this.counter); slot++) yield slot
  }
}
