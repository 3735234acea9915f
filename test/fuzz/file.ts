/** Damage to the bytes of a SQLite file and its log. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { settledMessages } from '../../src/journal/message.ts'
import { readJournal } from '../../src/journal/read.ts'
import { verifyStored } from '../../src/journal/verify.ts'
import { sqliteFileFaults, sqliteStore } from '../../src/stores/sqlite.ts'
import { refusal } from './judge.ts'
import { JOURNALS } from './journals.ts'
import { type Pick, pickOf } from './pick.ts'
import { type Verdict, Violation } from './violation.ts'

const WHOLE = gunzipSync(readFileSync(new URL('../golden/format-1.db.gz', import.meta.url)))
const PAGE = 4096

const DAMAGES: Readonly<Record<string, (bytes: Buffer, pick: Pick) => Buffer>> = {
  'bit': (bytes, pick) => set(bytes, pick.below(bytes.length), (byte) => byte ^ (1 << pick.below(8))),
  'bit in the header': (bytes, pick) => set(bytes, pick.below(Math.min(100, bytes.length)), (byte) => byte ^ (1 << pick.below(8))),
  'byte': (bytes, pick) => set(bytes, pick.below(bytes.length), () => pick.of([0, 1, 0x7f, 0x80, 0xff])),
  'bit at the beginning of a page': (bytes, pick) => set(bytes, pick.below(Math.ceil(bytes.length / PAGE)) * PAGE + pick.below(16), (byte) => byte ^ (1 << pick.below(8))),
  'empty page': (bytes, pick) => Buffer.from(bytes).fill(0, pick.below(bytes.length / PAGE) * PAGE).subarray(0, bytes.length),
  'page of zeros': (bytes, pick) => {
    const at = pick.below(bytes.length / PAGE) * PAGE
    return Buffer.from(bytes).fill(0, at, at + PAGE)
  },
  'pages swapped': (bytes, pick) => {
    const [a, b] = [pick.below(bytes.length / PAGE) * PAGE, pick.below(bytes.length / PAGE) * PAGE]
    const copy = Buffer.from(bytes)
    bytes.copy(copy, a, b, b + PAGE)
    bytes.copy(copy, b, a, a + PAGE)
    return copy
  },
  'garbage inside': (bytes, pick) => {
    const copy = Buffer.from(bytes)
    const at = pick.below(bytes.length)
    for (let i = at; i < Math.min(bytes.length, at + 1 + pick.below(64)); i++) copy[i] = pick.below(256)
    return copy
  },
  'garbage at the end': (bytes, pick) => Buffer.concat([bytes, Buffer.from(Array.from({ length: 1 + pick.below(5_000) }, () => pick.below(256)))]),
  'cut': (bytes, pick) => bytes.subarray(0, pick.below(bytes.length)),
  'cut at a page': (bytes, pick) => bytes.subarray(0, pick.below(bytes.length / PAGE) * PAGE),
  'nothing': (bytes) => bytes,
}

function set(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(bytes)
  if (at < copy.length) copy[at] = change(copy[at]!) & 0xff
  return copy
}

export const FILE_CODES = ['STORE_CORRUPT', 'STORE_NEWER', 'STORE_FOREIGN', 'STORE_EMPTY', 'STORE_UNAVAILABLE']

/** @throws Violation. */
export async function judgeFile(seed: number, k: number): Promise<Verdict> {
  const pick = pickOf(seed, k)
  const name = pick.of(Object.keys(DAMAGES))
  const bytes = DAMAGES[name]!(WHOLE, pick)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  try {
    const file = join(folder, 'runs.db')
    writeFileSync(file, bytes)
    return await judgeAt(file, pick.chance(0.5)).catch((error: unknown) => {
      if (error instanceof Violation) throw new Violation(`${name}: ${error.message}`, { cause: error.cause })
      throw error
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function judgeAt(file: string, readOnly: boolean): Promise<Verdict> {
  const store = sqliteStore(file, { readOnly, create: false })
  try {
    await store.open()
  } catch (error) {
    return `not opened: ${refusal(error, FILE_CODES).code}`
  }
  try {
    let lost: string | undefined
    const verdicts = new Set<Verdict>()
    const refused = (error: unknown): void => void verdicts.add(refusal(error, ['STORE_CORRUPT', 'STORE_NEWER', 'STORE_UNAVAILABLE', 'KEY_MISSING']).code)
    await store.list().catch(refused)
    for (const { row, journal, inbox } of JOURNALS) {
      try {
        const found = await store.get(row.runId)
        if (!found) {
          lost = `run ${row.runId} is not there`
          continue
        }
        const { entries } = await readJournal(store, found)
        if (!isDeepStrictEqual(entries.map(({ entry }) => entry), journal.map(({ body }) => JSON.parse(body)))) throw new Violation('it gives entries that nobody wrote')
        verdicts.add('as written')
        // Those that a salvage has given up answer nothing, and need not be there.
        const settled = settledMessages(entries)
        const expected = inbox.flatMap(({ seq, body }) => (seq > settled ? [body] : []))
        if (!isDeepStrictEqual((await store.inbox(row.runId, settled)).map(({ body }) => body), expected)) lost ??= `the inbox of run ${row.runId} is another`
      } catch (error) {
        if (error instanceof Violation) throw error
        refused(error)
      }
    }
    // What no reader of one run can know, verify does.
    if (lost !== undefined && !(await isFound(file, store))) throw new Violation(`${lost}, and verify finds nothing`)
    return [...verdicts, ...(lost === undefined ? [] : ['found by verify'])].sort().join(' + ')
  } finally {
    await store.close().catch((error: unknown) => void refusal(error, FILE_CODES))
  }
}

async function isFound(file: string, store: ReturnType<typeof sqliteStore>): Promise<boolean> {
  try {
    if ((await sqliteFileFaults(file)).length > 0) return true
    for (const { runId } of await store.list({ limit: Infinity })) if ((await verifyStored(store, runId)).findings.length > 0) return true
    return false
  } catch (error) {
    refusal(error, FILE_CODES)
    return true
  }
}
