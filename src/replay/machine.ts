/**
 * The reducer at the heart: it is told what a run asks for and what came of it, and says what runs, what is
 * answered from the journal, what is handed out next, and what is refused (R1, R4, R5). It waits for nothing and
 * touches nothing; `run/` carries out what it says.
 */
import { guard, type Consumption, type GuardContext, type GuardVerdict } from '../effects/guard.ts'
import type { Effect } from '../effects/effect.ts'
import type { AskedCall } from '../journal/entry.ts'
import { Branch } from './branch.ts'
import { calledWith, isBlind, type Claim, type Note, type Ticket, type Verdict } from './claim.ts'
import { elsewhere, formerEffect } from './elsewhere.ts'
import { Entered } from './entered.ts'
import { blamed, type Blamed, type Known } from './failure.ts'
import type { History, StepRecord } from './history.ts'
import { isWithin, keyed, MAIN, numbered, parentOf } from './identity.ts'
import { callsLeft, leftOf } from './left.ts'
import { approvedPlace, asksTheSame, isOfOtherCode, matchNumbered } from './match.ts'
import { Order, type Next } from './order.ts'
import { divergenceReason } from './reason.ts'
import { ambiguity, comesAfter, REFUSED, repeatedCall, usedByOthers, type Refusal } from './refusal.ts'
import { Unclaimed } from './unclaimed.ts'
import { warningsOf } from './warning.ts'

export class Machine {
  readonly #history: History
  /** Configurations that the journal knew when the drive began. */
  readonly #configsBefore: ReadonlySet<string>
  readonly #order: Order<Ticket>
  readonly #branches = new Map<string, Branch>()
  /** Steps whose code runs right now. */
  readonly #running = new Set<string>()
  readonly #unclaimed: Unclaimed
  readonly #entered: Entered
  /** By step that filled a hole, the records of its branch that ask for the very same. */
  readonly #rivals = new Map<string, readonly string[]>()
  #event = 0

  /** `history` is what the journal holds at the start of the drive; the owner goes on applying to it what is appended. */
  constructor(history: History) {
    this.#history = history
    this.#configsBefore = new Set(history.configs.keys())
    this.#order = new Order(history.expected())
    this.#unclaimed = new Unclaimed(history.ledger)
    this.#entered = new Entered(history)
    this.#branches.set(MAIN, new Branch(MAIN, history, { parent: undefined, place: undefined, around: undefined, openedAt: 0 }))
  }

  /** Counts claims, results handed out, branches opened and ended. */
  get now(): number {
    return this.#event
  }

  /** How many records can still be asked for: 0 when nothing is left to replay. */
  get replaysLeft(): number {
    return this.#order.left
  }

  claim(claim: Claim): Verdict {
    return this.#entered.told(this.#claim(claim))
  }

  #claim(claim: Claim): Verdict {
    const branch = this.#branches.get(claim.branch)
    if (!branch || branch.isOver) {
      return { type: 'refuse', code: 'BRANCH_ENDED', message: `${claim.kind} "${claim.name}" was asked for in a branch that has ended`, advice: REFUSED.ended }
    }
    this.#order.revive(branch.path)
    if (claim.place.type === 'key') return this.#claimKeyed(branch, claim, claim.place.key)
    if (claim.place.type === 'call') {
      const asked = branch.takeAsked(claim.place.callId, claim.name, claim.fingerprint, (id) => this.#recordAt(id))
      if (asked !== undefined) {
        if (claim.effect) branch.noteEffectOf(parentOf(asked)!)
        return this.#claimCalled(branch, claim, asked)
      }
      if (claim.place.approvalId !== undefined) return this.#claimPlace(branch, claim, approvedPlace(branch, claim, claim.place.approvalId, (at) => this.#recordAt(at)))
      const before = branch.takenCall(claim.place.callId)
      if (before !== undefined && !claim.place.mayRepeat && this.#standsForItsCall(before)) return repeatedCall(claim, this.#history.current(before))
    }
    return this.#claimNumbered(branch, claim)
  }

  /**
   * Opens a branch below `parent`: the inside of a step by its id, or one of the handler's by its key.
   * Returns undefined when one of that key is open, or what it stands in has ended.
   */
  openBranch(parent: string, as: { readonly step: string } | { readonly key: string }): Branch | undefined {
    const above = this.#branches.get(parent)
    const isInside = 'step' in as
    if (!above || (isInside ? above.isAbandoned : above.isOver)) return undefined
    const place = isInside ? undefined : keyed(parent, 'b', as.key, undefined, 0)
    if (place !== undefined && above.isOpenKey(place)) return undefined
    const path = isInside ? as.step : this.#history.current(keyed(parent, 'b', as.key, undefined, above.occurrenceOf(place!)))
    if (place !== undefined) above.openKey(place)
    const branch = new Branch(path, this.#history, { parent: above, place, around: isInside ? above.tickets.findLast((ticket) => ticket.ref.id === path) : above.around, openedAt: ++this.#event })
    if (!isInside) above.noteBlindly(place!, branch)
    this.#branches.set(path, branch)
    return branch
  }

  /** Why a branch of this key must not be opened now: it was before, by code that this code does not follow, and nothing is recorded of this one. */
  openedByOthers(parent: string, key: string, by: Pick<Claim, 'follows' | 'seen'>): Refusal | undefined {
    const above = this.#branches.get(parent)
    const place = keyed(parent, 'b', key, undefined, 0)
    const former = above?.lastBlindly(place)
    if (!above || former === undefined || above.isOpenKey(place) || comesAfter(by, former)) return undefined
    const next = this.#history.current(keyed(parent, 'b', key, undefined, above.occurrenceOf(place)))
    return this.#history.hasInside(next) ? undefined : usedByOthers(`the key "${key}" of a branch`, former)
  }

  /** Ends this branch, and not one of its path that a later try of what it stands in has opened since. Once: another one of its key may be open by then. */
  closeBranch(branch: Branch): void {
    branch.endedAt = ++this.#event
    const { parent, place } = branch
    if (!parent) return
    parent.changedAt = Math.max(parent.changedAt, branch.changedAt)
    if (place !== undefined) parent.closeKey(place)
  }

  /** Whether nothing more can be asked for in a branch. */
  hasEnded(path: string): boolean {
    return this.#branches.get(path)?.isOver ?? true
  }

  /** Whether a step that it was claimed in has ended, though a later try of that may stand at the same path: nobody waits for it any more. */
  isAbandoned({ within }: Ticket): boolean {
    return within.isAbandoned
  }

  /** Whether a step with effects may start. Asked again after each `reconcile` and each new decision. */
  guard(ticket: Ticket, context: Omit<GuardContext, 'isRunning' | 'isGone' | 'isUnclaimed' | 'elsewhere'>): GuardVerdict {
    const effect = ticket.claim.effect ?? formerEffect(this.#history, ticket)
    if (!effect) return { type: 'start', consumes: NOTHING }
    // An earlier try of what it stands in has come to its end with it since: what was told of it then is told here too.
    const end = ticket.record?.end ? undefined : this.#history.records.get(ticket.ref.id)?.end
    if (end?.outcome.type === 'unknown') return { type: 'answer', outcome: end.outcome, consumes: NOTHING }
    const verdict = guard(
      this.#history.ledger,
      { step: ticket.ref.id, branch: ticket.ref.branch, ref: { name: effect.name, key: effect.key }, fingerprint: calledWith(ticket.claim), policy: effect.policy, changedAt: ticket.changedAt },
      { ...context, isRunning: (step) => this.#running.has(step), isGone: (step) => this.#history.isGone(step), isUnclaimed: (step) => this.isUnclaimed(step), elsewhere: elsewhere(this.#unclaimed, this.#history, ticket, effect, this.#rivalsOf(ticket)) },
    )
    if (ticket.claim.effect || effect.policy.repeatable || verdict.type !== 'start' || !this.#history.ledger.effects.has(ticket.ref.id)) return verdict
    // It is entered without a start of its own: what was decided about the one before is used up by that.
    return { ...verdict, consumes: { ...verdict.consumes, effects: [...verdict.consumes.effects, ticket.ref.id] } }
  }

  /** An effect of an earlier drive whose own call has not been asked for in this one. */
  isUnclaimed(step: string): boolean {
    const effect = this.#history.ledger.effects.get(step)
    return effect !== undefined && this.#unclaimed.has(effect)
  }

  /** Whether the own call of an effect was asked for in this drive, by code that still waits for it. */
  comesBack({ step }: Effect): boolean {
    return !this.isUnclaimed(step.id) && this.#branches.get(step.branch)?.isAbandoned === false
  }

  leftBehind = (): readonly Effect[] => this.#unclaimed.left()

  /** Records that nobody has claimed, and that may be of this step, or of one that it stands in. */
  #rivalsOf(ticket: Ticket): readonly string[] {
    const rivals: string[] = []
    for (let path: string | undefined = this.#rivals.size > 0 ? ticket.ref.id : undefined; path !== undefined; path = parentOf(path)) rivals.push(...(this.#rivals.get(path) ?? []))
    return rivals.filter((id) => {
      const record = this.#history.records.get(id)
      return record && !this.#branches.get(record.ref.branch)?.isClaimed(record)
    })
  }

  /** The step is written ahead, and its code is called then: it is in doubt for nobody. */
  started(ticket: Ticket): void {
    this.#running.add(ticket.ref.id)
  }

  /** The step has an end, recorded at `seq` (undefined: the store refused the record): it is handed out when its turn is. */
  ended(ticket: Ticket, seq: number | undefined): void {
    this.#running.delete(ticket.ref.id)
    ticket.seq = seq ?? Number.MAX_SAFE_INTEGER
    this.#order.ready(ticket)
  }

  /**
   * Of a step that ends, the effects inside of it that it has not asked for this time: its record answers for all that it holds, and these it
   * does not stand for. Undefined: there are none.
   */
  leftInside({ ref, hadInside }: Ticket): Note | undefined {
    if (!hadInside) return undefined
    const opened = [...this.#branches.values()].filter(({ path }) => isWithin(path, ref.id))
    // What was answered without its code has asked for nothing.
    const left = opened.length > 0 ? opened.flatMap((branch) => leftOf(branch, this.#history, this.#isOpenedIn(branch))) : this.#history.childrenOf(ref.id)
    const ids = left.filter((path) => this.#history.ledger.hasWithin(path))
    if (ids.length === 0) return undefined
    const note: Note = { type: 'superseded', by: 'divergence', step: ref.id, reason: `${ref.kind} "${ref.name}" has ended without asking for what it had asked for inside before`, ids }
    this.#supersede(note)
    return note
  }

  /** What to hand out, now that the event loop has run dry. */
  next(): Next<Ticket> {
    const next = this.#order.next()
    if (next.type === 'deliver') this.#delivered(next.item)
    return next
  }

  /** The wait for an older record is over. */
  giveUp(): void {
    this.#order.giveUp()
  }

  /** It knows the calls that can be claimed. */
  branchAt(path: string): Branch | undefined {
    return this.#branches.get(path)
  }

  /** A model response is handed out: its calls can be claimed in its branch. */
  register(ticket: Ticket, asked: readonly AskedCall[]): void {
    ticket.within.register(ticket.ref.id, asked)
  }

  /** What a failed run must not replay: see {@link blamed}. */
  blamed = (known: Known): Blamed => blamed([...this.#branches.values()], this.#history, this.#event, known)

  #claimNumbered(branch: Branch, claim: Claim): Verdict {
    const match = matchNumbered(branch, claim, this.#history, this.#configsBefore)
    switch (match.type) {
      case 'refused':
        return { type: 'refuse', code: 'CONFIG_CHANGED', message: `the configuration changed (${match.changed.join(', ')})`, advice: REFUSED.config }
      case 'record': {
        const { record, changed } = match
        return this.#answeredByNumber(branch, claim, record, changed.length > 0 ? [{ type: 'config-changed', step: record.ref.id, changed, config: claim.model!.config }] : [])
      }
      case 'hole': {
        const place = numbered(branch.path, match.slot)
        const late = this.#recordAt(place)
        if (late) {
          // Recorded since the branch was opened, by an earlier try of what it lies in.
          return asksTheSame(late, claim) ? this.#answeredByNumber(branch, claim, late, []) : this.#replaced(branch, claim, late, place, match.slot)
        }
        const rivals = branch.rivalsOf(claim)
        const verdict = this.#live(branch, claim, place, [...warningsOf(branch, claim, match.slot, this.#history), ...callsLeft(branch, claim, this.#history).map((id) => this.#notAsked(id, claim.model!.carriesOn!))], match.slot)
        if (verdict.type === 'live' && rivals.length > 0) this.#rivals.set(verdict.ticket.ref.id, rivals)
        return verdict
      }
      case 'diverged': {
        const slot = branch.free()
        const refused = ambiguity(branch, claim, slot)
        if (refused) return refused
        const place = numbered(branch.path, slot)
        const why = match.changed.length > 0
          ? `the configuration changed (${match.changed.join(', ')})`
          : divergenceReason(claim, match.record, (id) => this.#history.records.get(id))
        const ids = leftOf(branch, this.#history, this.#isOpenedIn(branch))
        branch.diverged = true
        const note: Note = { type: 'superseded', by: 'divergence', step: match.record?.ref.id ?? this.#history.current(place), reason: why, ids }
        this.#supersede(note)
        return this.#live(branch, claim, place, [note], slot)
      }
    }
  }

  /** Unless it says nothing of what it asks, and may be another one now. */
  #answeredByNumber(branch: Branch, claim: Claim, record: StepRecord, notes: Note[]): Verdict {
    const slot = record.ref.slot!
    const isOthers = isOfOtherCode(record, claim)
    if (isOthers || (isBlind(claim) && record.seq < branch.changedAt)) {
      return ambiguity(branch, claim, slot) ?? this.#live(branch, claim, numbered(branch.path, slot), [...notes, this.#supersedeBlind(record, isOthers)], slot)
    }
    branch.claimSlot(slot)
    return this.#answered(branch, claim, record, notes)
  }

  #claimKeyed(branch: Branch, claim: Claim, key: string): Verdict {
    const first = keyed(branch.path, typeOf(claim), claim.name, key, 0)
    if (branch.isOpenKey(first)) {
      const which = key === '' && claim.kind === 'agent' ? '' : ` with key "${key}"`
      return { type: 'refuse', code: 'AMBIGUOUS_STEP', message: `${claim.kind} "${claim.name}"${which} is open already in this branch`, advice: REFUSED[claim.kind === 'agent' ? 'agent' : 'key'] }
    }
    const place = keyed(branch.path, typeOf(claim), claim.name, key, branch.occurrenceOf(first))
    const former = claim.hasInput || this.#recordAt(place) ? undefined : branch.lastBlindly(first)
    if (former !== undefined && !comesAfter(claim, former)) return usedByOthers(`the key "${key}" of ${claim.kind} "${claim.name}"`, former)
    branch.openKey(first)
    const verdict = this.#claimPlace(branch, claim, place)
    if (verdict.type !== 'refuse' && !claim.hasInput) branch.noteBlindly(first, verdict.ticket)
    return verdict
  }

  #claimCalled(branch: Branch, claim: Claim, place: string): Verdict {
    const record = this.#recordAt(place)
    if (!record || !branch.isReplayed(parentOf(place)!, record) || record.fingerprint === claim.fingerprint || record.ref.name !== claim.name) return this.#claimPlace(branch, claim, place)
    // The call is the same by its response and id: changed defaults or repairs are a change of configuration (R1).
    return this.#answered(branch, claim, record, [
      { type: 'warning', code: 'ARGUMENTS_CHANGED', step: record.ref.id, message: `tool "${claim.name}" would run with other arguments now than those recorded; the recorded result stands` },
    ])
  }

  /** A step that is known by its place alone, whatever stands beside it. */
  #claimPlace(branch: Branch, claim: Claim, place: string): Verdict {
    const record = this.#recordAt(place)
    if (!record) return this.#live(branch, claim, place, [])
    if (asksTheSame(record, claim)) return this.#answered(branch, claim, record, [])
    return this.#replaced(branch, claim, record, place)
  }

  /** What the journal has in a place gives way to what is asked for there now. */
  #replaced(branch: Branch, claim: Claim, record: StepRecord, place: string, slot?: number): Verdict {
    const refused = ambiguity(branch, claim, slot)
    if (refused) return refused
    const note: Note = { type: 'superseded', by: 'divergence', step: record.ref.id, reason: divergenceReason(claim, record, (id) => this.#history.records.get(id)), ids: [record.ref.id] }
    this.#supersede(note)
    return this.#live(branch, claim, place, [note], slot)
  }

  #answered(branch: Branch, claim: Claim, record: StepRecord, notes: Note[]): Verdict {
    this.#order.settle(record.ref.id)
    const ticket = this.#open(branch, claim, record.ref, record)
    // Started, without an end: it runs, unless the guard has something against it.
    if (!record.end) return { type: 'live', ticket, notes: [...this.#configNotes(claim), ...notes] }
    ticket.seq = record.end.seq
    this.#order.ready(ticket)
    return { type: 'replay', ticket, notes }
  }

  #live(branch: Branch, claim: Claim, place: string, notes: Note[], slot?: number): Verdict {
    const refused = ambiguity(branch, claim, slot)
    if (refused) return refused
    if (slot !== undefined) branch.claimSlot(slot)
    const ref = { id: this.#history.current(place), branch: branch.path, kind: claim.kind, name: claim.name, ...(slot === undefined ? {} : { slot }) }
    const ticket = this.#open(branch, claim, ref)
    return { type: 'live', ticket, notes: [...notes, ...this.#configNotes(claim)] }
  }

  #open(branch: Branch, claim: Claim, ref: Ticket['ref'], record?: StepRecord): Ticket {
    const occurrence = branch.countAsk(claim)
    const ticket: Ticket = {
      ref, within: branch, claim, carriesOn: claim.model?.carriesOn, occurrence, ...branch.overlap(ref.slot), to: record?.to ?? Infinity, hadInside: ref.kind !== 'model' && this.#history.hasInside(ref.id), changedAt: isBlind(claim) ? branch.changedAt : 0, claimedAt: ++this.#event, record, start: 0, seq: 0, deliveredAt: 0,
    }
    branch.open.add(ticket)
    if (isBlind(claim)) branch.noteBlind(ticket)
    branch.noteRequest(ticket)
    branch.tickets.push(ticket)
    this.#unclaimed.settle(ticket)
    return ticket
  }

  #delivered(ticket: Ticket): void {
    ticket.deliveredAt = ++this.#event
    const branch = ticket.within
    branch.open.delete(ticket)
    const outcome = this.#history.records.get(ticket.ref.id)?.end?.outcome
    if (outcome?.type === 'error' && outcome.mayHaveHappened) branch.askedInVain(ticket.claim, ticket.occurrence)
    // One without a record counts from now on: what is recorded after it in this drive saw it.
    if (this.#history.isChanged(ticket.ref.id)) branch.changedAt = Math.max(branch.changedAt, Math.min(ticket.seq, this.#history.newest))
    const { model: _model, isGivenUp: _isGivenUp, ...kept } = ticket.claim
    ticket.claim = kept
    if (ticket.claim.place.type === 'key') branch.closeKey(keyed(branch.path, typeOf(ticket.claim), ticket.claim.name, ticket.claim.place.key, 0))
  }

  #supersedeBlind({ ref, after, fingerprint }: StepRecord, isOthers: boolean): Note {
    if (!isOthers) this.#unclaimed.driveAgain(ref, fingerprint, this.#history.ledger.token)
    const why = isOthers ? `is asked for by other code than in the journal: that had asked for ${after?.[0] || 'nothing'} last` : 'follows a result that may be another one now'
    const note: Note = { type: 'superseded', by: 'live-result', step: ref.id, reason: `${ref.kind} "${ref.name}" has no input and ${why}`, ids: [ref.id] }
    this.#supersede(note)
    return note
  }

  readonly #isOpenedIn = (branch: Branch) => (path: string): boolean => this.#branches.get(path)?.parent === branch

  #notAsked(call: string, response: string): Note {
    const note: Note = { type: 'superseded', by: 'divergence', step: call, reason: `the conversation goes on behind ${response}, and does not ask for it any more`, ids: [call] }
    this.#supersede(note)
    return note
  }

  /** It is on its way, or was made: what failed may be tried again, and what is in doubt is guarded. */
  #standsForItsCall(place: string): boolean {
    const outcome = this.#recordAt(place)?.end?.outcome.type
    return outcome !== 'error' && outcome !== 'unknown'
  }

  #recordAt(place: string): StepRecord | undefined {
    return this.#history.records.get(this.#history.current(place))
  }

  /** Takes effect at once, so that what is claimed next sees it; the owner writes the same note down. */
  #supersede(note: Note & { type: 'superseded' }): void {
    for (const id of note.ids) for (const record of this.#history.recordsBelow(id)) this.#order.settle(record)
    this.#history.apply({ ...note, at: 0 }, 0)
  }

  #configNotes(claim: Claim): Note[] {
    const { model } = claim
    if (!model || this.#history.configs.has(model.config)) return []
    const note: Note = { type: 'config', digest: model.config, parts: model.parts }
    this.#history.apply({ ...note, at: 0 }, 0)
    return [note]
  }
}

const NOTHING: Consumption = { effects: [], decisions: [] }

const typeOf = (claim: Claim): 's' | 'a' => (claim.kind === 'agent' ? 'a' : 's')
