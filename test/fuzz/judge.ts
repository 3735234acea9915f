/** Reads what was damaged through everything that reads journals, and judges what comes of it. */
import { isDeepStrictEqual } from 'node:util'
import { runView } from '../../src/cli/view/run-view.ts'
import { showText } from '../../src/cli/view/show-text.ts'
import { jsonText } from '../../src/cli/json.ts'
import { hash } from '../../src/core/hash.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { Placed } from '../../src/journal/chain.ts'
import { canonical } from '../../src/journal/canonical.ts'
import { decode, encode } from '../../src/journal/codec.ts'
import { readMessage } from '../../src/journal/message.ts'
import { readJournal } from '../../src/journal/read.ts'
import type { RunRow, Store, StoredEntry } from '../../src/journal/store.ts'
import { verifyRun } from '../../src/journal/verify-run.ts'
import { History } from '../../src/replay/history.ts'
import { entriesOf } from '../../src/run/inbox.ts'
import { stallOf } from '../../src/runner/stall.ts'
import { textOf } from './data.ts'
import type { Journal } from './journals.ts'
import { type Verdict, Violation } from './violation.ts'

/** A store that has lost or got what its rows say. Only what readJournal asks for. */
const holding = (row: RunRow, rows: readonly StoredEntry[]): Store =>
  ({ get: async () => row, read: async () => rows.map((each) => ({ ...each })) }) as Partial<Store> as Store

/** A HoldfastError for what is wrong with what is stored. Anything else is a crash. */
export function refusal(error: unknown, codes: readonly string[]): HoldfastError {
  if (HoldfastError.isInstance(error) && codes.includes(error.code) && error.message.length < 1_500) return error
  throw new Violation(`it fails with ${error instanceof Error ? `${error.name} ${(error as { code?: unknown }).code ?? ''}: ${error.message.slice(0, 300)}` : String(error)}`, { cause: error })
}

/** Damage of which the checksums know nothing. */
export async function judgeRows({ row, journal }: Journal, rows: readonly StoredEntry[]): Promise<Verdict> {
  const asWritten = isDeepStrictEqual(rows, journal)
  const findings = verifyRun(row, rows, [])
  const found = findings.filter(({ type }) => type !== 'inbox')
  try {
    const { entries } = await readJournal(holding(row, rows), row)
    if (!isDeepStrictEqual(entries.map(({ entry }) => entry), journal.map(({ body }) => JSON.parse(body)))) throw new Violation('it gives entries that nobody wrote')
    if (!asWritten) throw new Violation('it does not see that something was changed')
    if (found.length > 0) throw new Violation(`verify finds ${found[0]!.message} in what was written`)
    return 'as written'
  } catch (error) {
    if (error instanceof Violation) throw error
    const { code, message } = refusal(error, ['STORE_CORRUPT', 'STORE_NEWER'])
    if (asWritten) throw new Violation(`what was written is refused: ${message}`)
    if (!/entry -?\d/.test(message)) throw new Violation(`it does not say where: ${message}`)
    const [first] = found
    if (!first || !message.includes(`entry ${first.seq}`)) throw new Violation(`verify finds it at ${first?.seq}, reading says: ${message}`)
    return `${code} ${first.type}`
  }
}

/** Data with checksums that fit: what can be said of it is that it is read as it stands there or refused, and that nothing breaks over it. */
export async function judgeForged({ row, journal }: Journal, seq: number, entry: unknown): Promise<Verdict> {
  const rows = journal.slice(0, seq - 1)
  for (const body of [textOf(entry), ...journal.slice(seq).map((each) => each.body)]) rows.push({ seq: rows.length + 1, body, sum: hash(rows.at(-1)?.sum ?? '', body) })
  const findings = verifyRun(row, rows, []).filter(({ type }) => type !== 'inbox' && type !== 'row')
  let entries: Placed[]
  try {
    ({ entries } = await readJournal(holding(row, rows), row))
  } catch (error) {
    const { code, message } = refusal(error, ['STORE_CORRUPT', 'STORE_NEWER', 'KEY_MISSING'])
    if (!message.includes(`entry ${findings[0]?.seq}`)) throw new Violation(`verify finds ${JSON.stringify(findings[0])}, reading says: ${message}`)
    return `${code} ${findings[0]!.type}`
  }
  if (!isDeepStrictEqual(entries.map((each) => each.entry), rows.map(({ body }) => JSON.parse(body)))) throw new Violation('it gives entries that nobody wrote')
  use(row, entries)
  return findings.length > 0 ? 'refused where it is used' : 'read as it stands'
}

/** Everything that is made of the entries of a run. */
function use(row: RunRow, entries: readonly Placed[]): void {
  const history = new History()
  for (const { entry, seq } of entries) history.apply(entry, seq)
  history.expected()
  stallOf(entries, 3)
  try {
    const view = runView({ row, entries, owner: null, inbox: [], place: {} })
    showText(view, { width: 80, paint: (_, text) => text })
    jsonText(view)
  } catch (error) {
    refusal(error, ['STORE_CORRUPT'])
  }
}

export function judgeMessage({ row, journal }: Journal, body: string): Verdict {
  try {
    const message = readMessage(row.runId, { seq: 1, body })
    const history = new History()
    for (const [i, each] of journal.entries()) history.apply(JSON.parse(each.body), i + 1)
    entriesOf(row.runId, { seq: 1, body }, history)
    return `read as ${message.type}`
  } catch (error) {
    const { code, message } = refusal(error, ['STORE_CORRUPT', 'STORE_NEWER', 'SECRET_MISSING'])
    if (!message.includes('message 1')) throw new Violation(`it does not say where: ${message}`)
    return code
  }
}

/** A value is refused, or is one that the codec would write: it can be encoded, and comes back as itself. */
export function judgeValue(encoded: unknown): Verdict {
  let value: unknown
  try {
    value = decode(encoded, 'value')
  } catch (error) {
    const { message } = refusal(error, ['STORE_CORRUPT'])
    if (!message.startsWith('value')) throw new Violation(`it does not say where: ${message}`)
    return 'STORE_CORRUPT'
  }
  try {
    const text = canonical(value)
    if (canonical(decode(encode(value))) !== text) throw new Violation('it is another value after it was written again')
  } catch (error) {
    if (error instanceof Violation) throw error
    const { code } = refusal(error, ['VALUE_TOO_LARGE', 'VALUE_NOT_STORABLE'])
    if (code === 'VALUE_NOT_STORABLE') throw new Violation(`the codec gives what it does not take: ${String(error)}`)
    return 'read, too large to compare'
  }
  jsonText(value)
  return 'read'
}
