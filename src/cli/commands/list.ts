/** `holdfast list` */
import type { RunFilter, RunRow, RunStatus } from '../../journal/store.ts'
import { describeOwner } from '../../run/owner.ts'
import { ownership } from '../../run/lease.ts'
import { isDue } from '../../runner/recover.ts'
import type { Arguments } from '../arguments.ts'
import { usage } from '../cli-error.ts'
import { JSON_OPTION, HELP_OPTION, MODULE_OPTION, STORE_OPTION, type Command } from '../command.ts'
import { EXIT } from '../exit-code.ts'
import { jsonText } from '../json.ts'
import { timeText } from '../moment.ts'
import { openSource } from '../source.ts'
import { paintFor, type Style } from '../style.ts'
import { table, type Cell, type Column } from '../table.ts'

const STATUSES: readonly RunStatus[] = ['running', 'suspended', 'completed', 'failed', 'cancelled', 'stalled']

export const list: Command = {
  spec: {
    name: 'list',
    summary: 'list the runs, those that changed last first',
    positionals: [],
    options: [
      { name: 'agent', value: 'NAME', text: 'only runs of this agent' },
      { name: 'status', value: 'STATUS', text: `only runs of this status: ${STATUSES.join(', ')}; several with commas` },
      { name: 'thread', value: 'ID', text: 'only runs of this thread' },
      { name: 'limit', value: 'N', text: 'at most this many; default 100' },
      STORE_OPTION, MODULE_OPTION, JSON_OPTION, HELP_OPTION,
    ],
    notes: ['`interrupted` is a run whose status is `running` and that nobody drives: the process that drove it is gone. A suspended run that is `due since` a time can go on. recover drives both.'],
    examples: ['holdfast list --store runs.db', 'holdfast list --status suspended,failed --json'],
  },
  async run(args, io) {
    const filter = filterOf(args)
    const source = await openSource(args, io, { reading: true })
    try {
      const runs = (await source.list(filter)).map((row) => listed(row, io.now()))
      io.out.write(args.flags.has('json') ? jsonText({ runs }) : `${listText(runs, { width: io.out.isTTY ? (io.out.columns ?? 80) : undefined, paint: paintFor(io.out, io.env) })}\n`)
      return EXIT.done
    } finally {
      await source.close()
    }
  },
}

function filterOf({ values: { agent, status, thread, limit } }: Arguments): RunFilter {
  const statuses = status?.split(',') as RunStatus[] | undefined
  const wrong = statuses?.find((each) => !STATUSES.includes(each))
  if (wrong !== undefined) throw usage(`${JSON.stringify(wrong)} is no status`, `They are ${STATUSES.join(', ')}`)
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit)) throw usage(`--limit must be a whole number from 1, got ${JSON.stringify(limit)}`)
  return {
    ...(agent !== undefined && { agent }),
    ...(statuses && { status: statuses }),
    ...(thread !== undefined && { threadId: thread }),
    ...(limit !== undefined && { limit: Number(limit) }),
  }
}

/** A run as `list --json` prints it; field names are stable. Times are ms since the epoch. */
export interface ListedRun {
  readonly runId: string
  readonly agent: string
  readonly status: RunStatus
  /** `running`, but nobody drives it. */
  readonly interrupted: boolean
  /** Who drives it now. */
  readonly owner: string | null
  readonly threadId: string | null
  /** Attempts so far. */
  readonly attempts: number
  readonly createdAt: number
  readonly updatedAt: number
  /** From when on a suspended run can go on: by itself, or because somebody has answered. */
  readonly resumeAt: number | null
  /** That has come: `recover` drives it. */
  readonly due: boolean
}

export function listed(row: RunRow, now: number): ListedRun {
  const { runId, agent, status, threadId, token, createdAt, updatedAt, resumeAt } = row
  const owned = ownership(row, now)
  return {
    runId, agent, status, interrupted: status === 'running' && owned.free, owner: owned.free ? null : describeOwner(owned.owner),
    threadId, attempts: token, createdAt, updatedAt, resumeAt,
    due: isDue(row, now),
  }
}

const STYLES: Readonly<Record<RunStatus | 'interrupted', Style>> = {
  completed: 'green', failed: 'red', stalled: 'red', suspended: 'yellow', interrupted: 'yellow', running: 'cyan', cancelled: 'dim',
}

export function listText(runs: readonly ListedRun[], options: Parameters<typeof table>[2]): string {
  if (runs.length === 0) return 'no runs'
  const columns: Column[] = [
    { title: 'RUN', cut: 'middle' }, { title: 'AGENT', cut: 'end' }, { title: 'STATUS' }, { title: 'ATTEMPTS', align: 'right' }, { title: 'UPDATED' }, { title: 'NOTE', cut: 'end' },
  ]
  return table(columns, runs.map((run): Cell[] => {
    const status = run.interrupted ? 'interrupted' : run.status
    return [run.runId, run.agent, { text: status, style: STYLES[status] }, String(run.attempts), timeText(run.updatedAt), noteOf(run)]
  }), options).join('\n')
}

function noteOf({ status, interrupted, owner, resumeAt, due }: ListedRun): string {
  if (owner !== null) return owner
  if (interrupted) return 'resume it, or recover'
  if (status === 'suspended') return resumeAt === null ? 'waits: show says for what' : `due ${due ? 'since ' : ''}${timeText(resumeAt)}`
  return ''
}
