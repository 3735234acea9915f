/** `holdfast resolve` */
import type { DecisionInput } from '../../runner/resolve.ts'
import type { Arguments } from '../arguments.ts'
import { usage } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { CHOICES, type Choice } from '../hint.ts'
import { asOfOf, parseJson } from '../input.ts'
import { say, SAY_OPTIONS, SECRETS_NOTE } from '../say.ts'

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
      ...SAY_OPTIONS,
    ],
    notes: ['Find out what happened first: nothing is done to the outside world here. The step is the id that show prints. One decision counts; a second one about the same question is refused.', 'A step whose caller was told that its outcome is unknown, and went on with that, is told so again: what is decided holds for calls after it. `holdfast resume <id> --redo STEP` asks for the step itself anew.', SECRETS_NOTE],
    examples: [
      `holdfast resolve ticket-123 2/c:call_7 --result '{"refunded":true}'`,
      'holdfast resolve ticket-123 2/c:call_7 --rerun --resume',
      'holdfast resolve ticket-123 2/c:call_7 --skip --store runs.db',
    ],
  },
  run(args, io) {
    const [choice, decision] = decisionOf(args)
    const asOf = asOfOf(args)
    return say(args, io, {
      said: choice,
      fields: { decision: choice },
      send: (source, runId, step) => source.resolve(runId, step, decision, asOf),
      resume: (runner, runId, step, options) => runner.resolve(runId, step, decision, { ...options, ...asOf }),
    })
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
