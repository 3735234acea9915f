/** `holdfast verify` */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import type { Store } from '../../journal/store.ts'
import { verifyStored, type Finding } from '../../journal/verify.ts'
import { checkRunId } from '../../runner/options.ts'
import { sqliteFileFaults, sqliteStore } from '../../stores/sqlite.ts'
import { HELP_OPTION, JSON_OPTION, QUIET_OPTION, type Command } from '../command.ts'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json.ts'
import { storeOf, unknownRun } from '../source.ts'
import { paintFor } from '../style.ts'
import { table, type Cell, type Column } from '../table.ts'

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
  readonly findings: readonly (Omit<Finding, 'runId' | 'type'> & { readonly runId: string | null; readonly type: Finding['type'] | 'file' })[]
}

async function reportOf(io: Io, file: string, runId: string | undefined, progress: (done: number, all: number) => void): Promise<Report> {
  const store = storeOf(io, sqliteStore(file, { readOnly: true }))
  await store.open()
  try {
    const findings: Report['findings'][number][] = []
    if (runId === undefined) for (const message of await sqliteFileFaults(file)) findings.push({ runId: null, seq: null, type: 'file', message })
    let entries = 0
    let messages = 0
    const runIds = runId === undefined ? await listed(store, findings) : [((await store.get(runId)) ?? unknownRun(runId)).runId]
    for (const [i, each] of runIds.entries()) {
      progress(i, runIds.length)
      const verified = await verifyStored(store, each)
      findings.push(...verified.findings)
      entries += verified.entries
      messages += verified.messages
    }
    return { ok: findings.length === 0, runs: runIds.length, entries, messages, findings }
  } finally {
    await store.close()
  }
}

/** One row that cannot be read takes the list with it: that is a finding, and what is wrong with the file says more. */
async function listed(store: Store, findings: Report['findings'][number][]): Promise<string[]> {
  try {
    return (await store.list({ limit: Infinity })).map(({ runId }) => runId)
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== 'STORE_CORRUPT') throw error
    findings.push({ runId: null, seq: null, type: 'file', message: `the runs cannot be listed: ${error.message}` })
    return []
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

function reportText({ ok, runs, entries, messages, findings }: Report, io: Io): string {
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
    'Restore the store from a copy; what SQLite can still read, `sqlite3 FILE .recover` saves.',
  ].join('\n')
}
