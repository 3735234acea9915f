/** `holdfast show` */
import { newestTaken } from '../../journal/message.ts'
import { ownership } from '../../run/lease.ts'
import { describeOwner } from '../../run/owner.ts'
import { JSON_OPTION, HELP_OPTION, MODULE_OPTION, STORE_OPTION, type Command } from '../command.ts'
import { placeOf } from '../drive.ts'
import { EXIT } from '../exit-code.ts'
import { jsonLine, jsonText } from '../json.ts'
import { findRun, openSource } from '../source.ts'
import { paintFor } from '../style.ts'
import { runView } from '../view/run-view.ts'
import { showText } from '../view/show-text.ts'

export const show: Command = {
  spec: {
    name: 'show',
    summary: 'show a run: its attempts, its steps, and what it waits for',
    positionals: ['<id>'],
    options: [{ name: 'raw', text: 'print the journal instead, one entry a line as JSON' }, STORE_OPTION, MODULE_OPTION, JSON_OPTION, HELP_OPTION],
    notes: [
      'For what is in doubt it prints the commands that settle it.',
      'REPLAYED says in how many later attempts a step was answered from the journal. 0-1: the attempt was killed, or replayed some steps of that kind and not others, and the journal does not say which.',
    ],
    examples: ['holdfast show ticket-123', 'holdfast show ticket-123 --store runs.db --json', 'holdfast show ticket-123 --raw'],
  },
  async run(args, io) {
    const source = await openSource(args, io, { reading: true })
    try {
      const { row, entries } = await findRun(source, args.positionals[0]!)
      if (args.flags.has('raw')) {
        for (const { seq, entry } of await source.raw(row.runId)) io.out.write(jsonLine({ seq, ...entry }))
        return EXIT.done
      }
      const owned = ownership(row, io.now())
      const taken = newestTaken(entries)
      const view = runView({
        row,
        entries,
        owner: owned.free ? null : describeOwner(owned.owner),
        inbox: await source.inbox(row.runId, taken),
        place: placeOf(args),
        now: io.now(),
      })
      const width = io.out.isTTY ? (io.out.columns ?? 80) : undefined
      io.out.write(args.flags.has('json') ? jsonText(view) : showText(view, { width, paint: paintFor(io.out, io.env) }))
      return EXIT.done
    } finally {
      await source.close()
    }
  },
}
