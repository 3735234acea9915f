/** `holdfast resolve` */
import { checkRunId } from '../../runner/options.ts'
import type { DecisionInput } from '../../runner/resolve.ts'
import type { Arguments } from '../arguments.ts'
import { usage } from '../cli-error.ts'
import { AS_OF_OPTION, HELP_OPTION, JSON_OPTION, MISMATCH_OPTION, MODULE_OPTION, QUIET_OPTION, STORE_OPTION, type Command } from '../command.ts'
import { drive, placeOf } from '../drive.ts'
import { EXIT } from '../exit-code.ts'
import { CHOICES, resumeCommand, type Choice } from '../hint.ts'
import { asOfOf, parseJson } from '../input.ts'
import { jsonText } from '../json.ts'
import { oneLine } from '../printable.ts'
import { loadRunner } from '../runner-module.ts'
import { openSource } from '../source.ts'

export const resolve: Command = {
  spec: {
    name: 'resolve',
    summary: 'settle a step that is in doubt, or that would repeat an effect',
    positionals: ['<id>', '<step>'],
    options: [
      { name: 'result', value: 'JSON', text: CHOICES.result },
      { name: 'reuse', text: CHOICES.reuse },
      { name: 'skip', text: CHOICES.skip },
      { name: 'rerun', text: CHOICES.rerun },
      AS_OF_OPTION,
      { name: 'resume', text: 'go on with the run at once; needs the module' },
      STORE_OPTION, MODULE_OPTION, MISMATCH_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION,
    ],
    notes: ['Find out what happened first: nothing is done to the outside world here. The step is the id that show prints. One decision counts; a second one about the same question is refused.'],
    examples: [
      `holdfast resolve ticket-123 2/c:call_7 --result '{"refunded":true}'`,
      'holdfast resolve ticket-123 2/c:call_7 --rerun --resume',
      'holdfast resolve ticket-123 2/c:call_7 --skip --store runs.db',
    ],
  },
  async run(args, io) {
    const [id, step] = args.positionals as [string, string]
    const runId = checkRunId(id)
    const [choice, decision] = decisionOf(args)
    const asOf = asOfOf(args)
    if (args.flags.has('resume')) {
      if (args.values['store'] !== undefined) throw usage('--resume goes on in the store of the module', 'Leave --store out')
      const runner = await loadRunner(args.values['module'], io.cwd)
      return drive(runId, runner, args, io, async (options) => (await runner.resolve(runId, step, decision, { ...options, ...asOf, resume: true }))!)
    }
    const source = await openSource(args, io, { reading: false })
    try {
      await source.resolve(runId, step, decision, asOf)
    } finally {
      await source.close()
    }
    const resume = resumeCommand(runId, placeOf(args))
    io.out.write(args.flags.has('json')
      ? jsonText({ runId, step, decision: choice, resume })
      : `${oneLine(step)} of run ${runId}: ${choice}\nIt goes on with\n  ${resume}\n`)
    return EXIT.done
  },
}

function decisionOf({ flags, values }: Arguments): readonly [Choice, DecisionInput] {
  const { result } = values
  const given = (['rerun', 'skip', 'reuse'] as const).filter((choice) => flags.has(choice))
  const [choice] = given
  if (given.length + (result === undefined ? 0 : 1) !== 1) {
    throw usage(given.length === 0 && result === undefined ? 'resolve needs a decision' : 'resolve takes one decision', 'Give one of --result JSON, --reuse, --skip, --rerun')
  }
  return choice === undefined ? ['result', { result: parseJson('--result', result!) }] : [choice, choice]
}
