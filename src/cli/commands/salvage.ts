/** `holdfast salvage` */
import { readFileSync, realpathSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import type { RecordReader } from '../../journal/store.ts'
import { parseKeys, recordReader, sealEntry } from '../../stores/encrypted.ts'
import { sqliteLostRecord, sqlitePageFaults, sqlitePutBack, sqliteReindex, sqliteReplaceRun, sqliteRunRecord, type RunRecord } from '../../stores/sqlite.ts'
import { checkRunId } from '../../runner/options.ts'
import { usage } from '../cli-error.ts'
import { HELP_OPTION, JSON_OPTION, type Command } from '../command.ts'
import { EXIT } from '../exit-code.ts'
import { resumeCommand } from '../hint.ts'
import { jsonLine, jsonText } from '../json.ts'
import { keepCopy } from '../salvage/copy.ts'
import { keptRows } from '../salvage/kept.ts'
import { lostRunOf } from '../salvage/lost.ts'
import { planOf, type Plan } from '../salvage/plan.ts'
import { putBackText } from '../salvage/put-back.ts'
import { unknownRun } from '../source.ts'

export const salvage: Command = {
  spec: {
    name: 'salvage',
    summary: 'cut a damaged run where its journal ends to hold, so that it can go on',
    positionals: ['<id>'],
    options: [
      { name: 'store', value: 'FILE', text: 'SQLite file of the store; default $HOLDFAST_STORE' },
      { name: 'from', value: 'FILE', text: 'a copy of the store: what is damaged is taken from it, as far as it has it' },
      { name: 'kept', value: 'FILE', text: 'print what an earlier salvage kept in FILE instead, one row a line as JSON, opened with $HOLDFAST_KEYS where it is encrypted' },
      JSON_OPTION, HELP_OPTION,
    ],
    notes: [
      'For a run that verify finds damaged, where no copy of the store can be put in its place. All that there was of it is first kept in a file of its own beside the store.',
      'Its journal then ends with its last entry that holds, and says so. What the run did after that may have been done: when it is resumed, each call with effects that is not recorded is in doubt, and waits for resolve, or is settled by the policy of its tool (reconcile).',
      'Where entries were lost, or a message that was not read yet, all messages of its inbox are given up, and what they have answered can be answered again. A row of the run that is lost, or cannot be right, is made anew from its journal. So are the indexes of the store, where they are damaged.',
      'First of all, rows are put back that stand under another run, or where they are not found, as a bit of their number or id is wrong: of whichever runs, by name.',
    ],
    examples: ['holdfast salvage ticket-123 --store runs.db', 'holdfast salvage ticket-123 --store runs.db --from backup/runs.db'],
  },
  async run({ values, flags, positionals: [given] }, io) {
    const keys = io.env['HOLDFAST_KEYS'] ? parseKeys(io.env['HOLDFAST_KEYS'], 'HOLDFAST_KEYS') : undefined
    const reader = keys && recordReader(keys)
    if (values['kept'] !== undefined) {
      for (const row of keptRows(readText(resolve(io.cwd, values['kept'])), checkRunId(given), reader)) io.out.write(jsonLine(row))
      return EXIT.done
    }
    const path = values['store'] ?? io.env['HOLDFAST_STORE']
    if (!path) throw new HoldfastError('MISSING_STORE', 'it is not said in which store the run is', { advice: 'Give --store FILE, or set HOLDFAST_STORE' })
    const file = resolve(io.cwd, path)
    const runId = checkRunId(given)
    const from = values['from'] === undefined ? undefined : resolve(io.cwd, values['from'])
    const copy = from === undefined ? undefined : ((await recordIn(from, runId, reader)) ?? unknownRun(runId, 'the copy'))
    const putBack = await sqlitePutBack(file)
    // At once: it is so, whatever becomes of the rest.
    const told = flags.has('json') ? io.err : io.out
    told.write(putBackText(putBack))
    const seen = (await recordIn(file, runId, reader, copy)) ?? unknownRun(runId)
    if (from !== undefined && realpathSync(from) === realpathSync(file)) throw usage('--from names the store itself', 'Give a copy of it, or leave --from out')
    const plan = planOf(runId, seen, { copy, now: io.now(), reader, seal: keys && ((row) => sealEntry(keys, runId, row)) })
    const faults = await sqlitePageFaults(file)
    if (!plan) {
      const isMended = faults > 0 && (await sqliteReindex(file, runId, faults))
      if (!isMended && faults > 0) throw new HoldfastError('STORE_CORRUPT', `nothing of run "${runId}" is damaged but the file, in a way that salvage does not mend`, { runId, advice: 'Nothing was changed. holdfast verify says what is wrong with it, and what to do' })
      if (!isMended && putBack.length === 0) throw new HoldfastError('INVALID_OPTIONS', `nothing of run "${runId}" is damaged`, { runId, advice: 'holdfast verify lists what is wrong with a store' })
      const all = seen.journal.length
      io.out.write(flags.has('json') ? jsonText({ runId, holds: all, had: all, fromCopy: 0, messagesFromCopy: 0, fault: isMended ? 'index' : null, kept: null, resume: null, putBack }) : `run ${runId}: all of it holds${isMended ? '; the indexes of the store, by which it is found, were damaged, and are made anew' : ''}\n`)
      return EXIT.done
    }
    const kept = keepCopy(file, runId, seen, io.now())
    const isLeft = await sqliteReplaceRun(file, runId, { ...plan.replacement(kept.name), reindex: faults > 0 }).catch((error: unknown) => {
      // Whether a file that could not be written has changed nobody knows. Else nothing has, and there is nothing to keep.
      if (HoldfastError.isInstance(error) && error.code !== 'STORE_UNAVAILABLE') rmSync(kept.path, { force: true })
      throw error
    })
    const resume = plan.status === 'completed' || plan.status === 'cancelled' ? null : resumeCommand(runId, {})
    io.out.write(flags.has('json')
      ? jsonText({ runId, holds: plan.holds, had: plan.had, fromCopy: plan.fromCopy, messagesFromCopy: plan.messagesFromCopy, fault: plan.fault ?? null, kept: kept.path, resume, putBack })
      : `${text(runId, { ...plan, isTorn: isLeft }, kept.path, resume, copy !== undefined)}\n`)
    return EXIT.done
  },
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw usage(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`, 'Give the file that salvage has named')
  }
}

/** By its row; or, where that is lost, has another id, or leads to no entry, by what its journal says. */
async function recordIn(file: string, runId: string, reader: RecordReader | undefined, copy?: RunRecord): Promise<RunRecord | undefined> {
  const found = await sqliteRunRecord(file, runId)
  if (found && (found.journal.length > 0 || found.isTorn)) return found
  const lost = await sqliteLostRecord(file, lostRunOf(runId, reader, copy))
  if (!found || !lost) return found ?? lost
  // The number of its row is damaged. Where a row leads to the journal too, nobody can tell which of the two is its own.
  return lost.row ? found : { ...lost, row: found.row, readable: undefined }
}

function text(runId: string, { holds, had, fromCopy, messagesFromCopy, fault, lost, isTorn }: Plan, kept: string, resume: string | null, hasCopy: boolean): string {
  const isCopyOfUse = !hasCopy || fromCopy > 0 || messagesFromCopy > 0 || fault === undefined
  return [
    `run ${runId}: ${holds} of its ${Math.max(holds, had)} entries hold${fromCopy > 0 ? `, ${fromCopy} of them from the copy` : ''}${fault === undefined ? '' : `; what is wrong behind them: ${fault}`}`,
    ...(messagesFromCopy > 0 ? [`${messagesFromCopy} of the messages in its inbox are from the copy`] : []),
    ...(fault === 'inbox' ? ['Messages that did not hold are given up: what they have answered can be answered again'] : []),
    ...(isCopyOfUse ? [] : ['The copy has nothing of what is damaged or missing.']),
    `What was there is kept in ${kept}`,
    ...(isTorn ? ['Pages of it that SQLite cannot read stay in the file, under no run: holdfast verify goes on telling them. Copy what else is in the store to another place soon'] : []),
    ...(lost ? ['What it did after them may have been done: each of its calls with effects is in doubt when it is resumed.'] : []),
    ...(resume === null ? [] : ['It goes on with', `  ${resume}`]),
  ].join('\n')
}
