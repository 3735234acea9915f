/** `holdfast verify` */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { HoldfastError, withoutAdvice } from '../../errors.ts'
import { verifyStored } from '../../journal/verify.ts'
import type { Finding as RunFinding } from '../../journal/verify-run.ts'
import { checkRunId } from '../../runner/options.ts'
import { parseKeys, recordReader } from '../../stores/encrypted.ts'
import { sqliteFileFaults, sqliteRunIds, sqliteStore } from '../../stores/sqlite.ts'
import { HELP_OPTION, JSON_OPTION, QUIET_OPTION, type Command } from '../command.ts'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json.ts'
import { unknownRun } from '../source.ts'
import { paintFor } from '../style.ts'
import { table, type Cell, type Column } from '../table.ts'
import { adviceFor, type Kind } from '../view/verify-advice.ts'

const PROGRESS_MS = 1_000

export const verify: Command = {
  spec: {
    name: 'verify',
    summary: 'check what is stored, and say what is wrong where',
    positionals: ['[id]'],
    options: [{ name: 'store', value: 'FILE', text: 'SQLite file of the store; default $HOLDFAST_STORE' }, QUIET_OPTION, JSON_OPTION, HELP_OPTION],
    notes: [
      'Reads every entry of every run (or of one): its number, the version of its format, its checksum, its values and its fields; then the run\'s row and inbox, and the file itself. Nothing is changed.',
      'A store that cannot be opened at all is an error with its own code, and exit code 6.',
    ],
    examples: ['holdfast verify --store runs.db', 'holdfast verify ticket-123', 'holdfast verify --store backup/runs.db --json'],
  },
  async run({ values, flags, positionals: [given] }, io) {
    const path = values['store'] ?? io.env['HOLDFAST_STORE']
    if (!path) throw new HoldfastError('MISSING_STORE', 'it is not said which store to look at', { advice: 'Give --store FILE, or set HOLDFAST_STORE' })
    const file = resolve(io.cwd, path)
    const progress = flags.has('quiet') || flags.has('json') ? () => {} : progressOn(io)
    const log = `${file}-wal`
    const wasOpen = existsSync(log)
    const look = (): Promise<Report> => reportOf(io, file, given === undefined ? undefined : checkRunId(given), progress)
    let report = await look()
    // Somebody has opened the file meanwhile, and may have written while it was read without locks.
    if (!report.ok && !wasOpen && existsSync(log)) report = await look()
    if (flags.has('json')) io.out.write(jsonText(report))
    else io.out.write(`${reportText(report, io)}\n`)
    return report.ok ? EXIT.done : EXIT.failed
  },
}

/** As `verify --json` prints it; field names are stable. */
interface Report {
  readonly ok: boolean
  readonly runs: number
  readonly entries: number
  readonly messages: number
  readonly findings: readonly Finding[]
  /** What to do, a sentence for each kind of thing that is wrong. */
  readonly advice: readonly string[]
}

type Finding = Omit<RunFinding, 'runId' | 'type'> & { readonly runId: string | null; readonly type: Kind }

async function reportOf(io: Io, file: string, runId: string | undefined, progress: (done: number, all: number) => void): Promise<Report> {
  // As the file has them: a record that does not open is one finding, and hides no other.
  const store = sqliteStore(file, { readOnly: true })
  const keys = io.env['HOLDFAST_KEYS']
  const reader = keys ? recordReader(parseKeys(keys, 'HOLDFAST_KEYS')) : undefined
  await store.open()
  try {
    const findings: Finding[] = []
    const ofFile = (message: string): void => void findings.push({ runId: null, seq: null, type: 'file', message })
    if (runId === undefined) for (const message of await faultsOf(file)) ofFile(message)
    const { runIds: all, several, faults } = await sqliteRunIds(file)
    const runIds = runId === undefined ? all : all.filter((id) => id === runId)
    if (runIds.length === 0 && runId !== undefined && faults.length === 0) unknownRun(runId)
    // One that is not found may be among those that cannot be listed.
    if (runId === undefined || runIds.length === 0) for (const message of faults) ofFile(message)
    let entries = 0
    let messages = 0
    for (const [i, each] of runIds.entries()) {
      progress(i, runIds.length)
      const verified = await verifyStored(store, each, reader)
      findings.push(...verified.findings)
      const ofRun = (message: string): void => void findings.push({ runId: each, seq: null, type: 'store', message })
      if (verified.isGone && (await sqliteRunIds(file)).runIds.includes(each)) ofRun('it is in the store, and by its id it is not found: its indexes are damaged')
      if (several.has(each)) ofRun(`it is in several rows of the table runs: ${several.get(each)!.join(', ')}`)
      entries += verified.entries
      messages += verified.messages
    }
    return { ok: findings.length === 0, runs: runIds.length, entries, messages, findings, advice: adviceFor(findings.map(({ type }) => type)) }
  } finally {
    await store.close()
  }
}

/** Where SQLite cannot even look through the file that is one finding: which runs it is about, each says for itself. */
async function faultsOf(file: string): Promise<readonly string[]> {
  try {
    return await sqliteFileFaults(file)
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return [withoutAdvice(error)]
    throw error
  }
}

function progressOn(io: Io): (done: number, all: number) => void {
  let last = io.now()
  return (done, all) => {
    const now = io.now()
    if (now - last < PROGRESS_MS) return
    last = now
    io.err.write(`${paintFor(io.err, io.env)('dim', `verified ${done} of ${all} runs`)}\n`)
  }
}

function reportText({ ok, runs, entries, messages, findings, advice }: Report, io: Io): string {
  const paint = paintFor(io.out, io.env)
  const read = `${runs} runs, ${entries} entries, ${messages} messages`
  if (ok) return `${paint('green', 'all is well:')} ${read}`
  const columns: Column[] = [{ title: 'RUN', cut: 'middle' }, { title: 'WHERE' }, { title: 'WHAT' }, { title: 'MESSAGE' }]
  const rows = findings.map(({ runId, seq, type, message }): Cell[] => {
    const where = type === 'file' ? 'file' : seq === null ? 'run' : `${type === 'inbox' ? 'message' : 'entry'} ${seq}`
    return [runId ?? '-', where, { text: type, style: 'red' }, message]
  })
  const width = io.out.isTTY ? (io.out.columns ?? 80) : undefined
  return [
    ...table(columns, rows, { width, paint }), '',
    `${read}: ${findings.length} findings. Nothing was changed.`,
    ...advice,
  ].join('\n')
}
