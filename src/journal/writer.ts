/** The one who writes a run's journal while its lease is held: write-ahead, in order, many entries in one commit (R3). */
import type { Clock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import { link, type Tip } from './chain.ts'
import type { Entry } from './entry.ts'
import { tooLarge } from './value-error.ts'
import type { Secrets } from './secrets.ts'
import type { RunPatch, Store, StoredEntry } from './store.ts'

type Unstamped<T> = T extends unknown ? Omit<T, 'at'> : never

/** An entry without its time: the writer stamps it. */
export type NewEntry = Unstamped<Entry>

export interface WriteOptions {
  readonly patch?: RunPatch
  /** The write fails with `INBOX_MOVED` unless this is the newest message. */
  readonly inboxSeq?: number
  /** The write fails with `VALUE_TOO_LARGE` when its last entry takes more bytes (UTF-8). `what` names it in the message. */
  readonly size?: { readonly maxBytes: number; readonly what: string }
}

interface Write extends WriteOptions {
  readonly entries: readonly NewEntry[]
  readonly resolve: (seq: number) => void
  readonly reject: (error: unknown) => void
}

export class Writer {
  readonly #store: Store
  readonly #runId: string
  readonly #token: number
  readonly #clock: Clock
  readonly #secrets: Secrets | undefined
  readonly #onAppended: (entry: Entry, seq: number, bytes: number) => void
  #tip: Tip
  #queue: Write[] = []
  /** What has to be in the journal before anything that follows it. */
  #ahead: NewEntry[] = []
  #flushing: Promise<void> | undefined
  #lost: HoldfastError | undefined

  constructor(options: {
    readonly store: Store
    readonly runId: string
    readonly token: number
    readonly tip: Tip
    readonly clock: Clock
    readonly secrets?: Secrets | undefined
    /** Called for each entry once it is durable, in order, before its write resolves. */
    readonly onAppended: (entry: Entry, seq: number, bytes: number) => void
  }) {
    this.#store = options.store
    this.#runId = options.runId
    this.#token = options.token
    this.#tip = options.tip
    this.#clock = options.clock
    this.#secrets = options.secrets
    this.#onAppended = options.onAppended
  }

  /**
   * Resolves to the position of the last of these entries, once they are durable. What is written in one turn of the event loop
   * shares a commit; where that is refused, each write is tried by itself, so that one bad record does not take others with it.
   *
   * Rejects with `LEASE_LOST` when another owner has taken over (and so do all later writes), with `INBOX_MOVED`, or
   * with the store's own error: then nothing of this write is in the journal.
   */
  write(entries: readonly NewEntry[], options: WriteOptions = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...options, entries, resolve, reject })
      this.#flushing ??= this.#flush()
    })
  }

  /** Has the entry written before, and together with, the next write that the store takes. */
  prepend(entry: NewEntry): void {
    this.#ahead.push(entry)
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.#flushing) await this.#flushing
  }

  async #flush(): Promise<void> {
    await this.#clock.idle()
    while (this.#queue.length > 0) {
      const writes = this.#queue
      this.#queue = []
      // What changes the run's row, or depends on the inbox, stands by itself.
      const shared = writes.filter((write) => !write.patch && write.inboxSeq === undefined)
      if (shared.length > 1 && shared.length === writes.length && (await this.#append(writes))) continue
      for (const write of writes) await this.#append([write])
    }
    this.#flushing = undefined
  }

  /** Resolves to whether these writes are done with: a group that the store refused is not. */
  async #append(writes: readonly Write[]): Promise<boolean> {
    if (this.#lost) {
      for (const write of writes) write.reject(this.#lost)
      return true
    }
    const at = this.#clock.now()
    const stamped: { entry: Entry; stored: StoredEntry; bytes: number }[] = []
    const ends: number[] = []
    const ahead = [...this.#ahead]
    let tip = this.#tip
    const add = (unstamped: NewEntry): number => {
      const entry = { ...unstamped, at } as Entry
      const stored = link(tip, entry, this.#secrets)
      const bytes = Buffer.byteLength(stored.body)
      stamped.push({ entry, stored, bytes })
      tip = stored
      return bytes
    }
    try {
      for (const entry of ahead) add(entry)
      for (const write of writes) {
        let bytes = 0
        for (const entry of write.entries) bytes = add(entry)
        if (write.size && bytes > write.size.maxBytes) throw tooLarge(write.size.what, bytes, write.size.maxBytes, 'maxStepBytes')
        ends.push(tip.seq)
      }
      const [{ patch, inboxSeq }] = writes as [Write]
      await this.#store.append(this.#runId, {
        token: this.#token,
        entries: stamped.map(({ stored }) => stored),
        now: at,
        ...(patch && { patch }),
        ...(inboxSeq !== undefined && { inboxSeq }),
      })
    } catch (error) {
      if (HoldfastError.isInstance(error) && error.code === 'STALE_TOKEN') {
        this.#lost = new HoldfastError('LEASE_LOST', `another process has taken over run "${this.#runId}", or the store has kept what it said that it had refused`, {
          runId: this.#runId, cause: error, advice: 'Run it again to see: what was recorded stands',
        })
        for (const write of writes) write.reject(this.#lost)
        return true
      }
      if (writes.length > 1) return false
      for (const write of writes) write.reject(error)
      return true
    }
    this.#tip = tip
    this.#ahead = this.#ahead.slice(ahead.length)
    for (const { entry, stored, bytes } of stamped) this.#onAppended(entry, stored.seq, bytes)
    writes.forEach((write, i) => write.resolve(ends[i]!))
    return true
  }
}
