/** `holdfast approve` and `holdfast deny` */
import type { ApproveInput, DenyInput } from '../../runner/approve.ts'
import { checkRunId } from '../../runner/options.ts'
import type { CallOptions, Runner } from '../../runner/runner.ts'
import type { Outcome } from '../../runner/outcome.ts'
import type { Arguments } from '../arguments.ts'
import { usage } from '../cli-error.ts'
import { AS_OF_OPTION, HELP_OPTION, JSON_OPTION, MISMATCH_OPTION, MODULE_OPTION, QUIET_OPTION, STORE_OPTION, type Command } from '../command.ts'
import { drive, placeOf } from '../drive.ts'
import { EXIT } from '../exit-code.ts'
import { resumeCommand } from '../hint.ts'
import { asOfOf, parseJson } from '../input.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json.ts'
import { oneLine } from '../printable.ts'
import { loadRunner } from '../runner-module.ts'
import { openSource, type AsOf, type Source } from '../source.ts'

const BY = { name: 'by', value: 'WHO', text: 'who says so: kept, and shown' } as const
const REST = [AS_OF_OPTION, { name: 'resume', text: 'go on with the run at once; needs the module' }, STORE_OPTION, MODULE_OPTION, MISMATCH_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION] as const
const STEP = 'The step is the id that show prints. One answer counts; a second one is refused.'

export const approve: Command = {
  spec: {
    name: 'approve',
    summary: 'agree to a call that waits for approval',
    positionals: ['<id>', '<step>'],
    options: [{ name: 'input', value: 'JSON', text: 'make it with these arguments in place of those asked for' }, BY, ...REST],
    notes: [STEP],
    examples: ['holdfast approve ticket-123 2/c:call_7', `holdfast approve ticket-123 2/c:call_7 --input '{"order":7,"amount":20}' --by ada --resume`],
  },
  run(args, io) {
    const { input, by } = args.values
    const given: ApproveInput & AsOf = { ...asOfOf(args), ...(input !== undefined && { input: parseJson('--input', input) }), ...(by !== undefined && { by }) }
    return answer(args, io, 'approve', (source, runId, step) => source.approve(runId, step, given), (runner, runId, step, options) => runner.approve(runId, step, { ...options, ...given }))
  },
}

export const deny: Command = {
  spec: {
    name: 'deny',
    summary: 'refuse a call that waits for approval',
    positionals: ['<id>', '<step>'],
    options: [{ name: 'reason', value: 'TEXT', text: 'the model is told' }, BY, ...REST],
    notes: [STEP],
    examples: ['holdfast deny ticket-123 2/c:call_7', `holdfast deny ticket-123 2/c:call_7 --reason 'over the limit' --by ada --resume`],
  },
  run(args, io) {
    const { reason, by } = args.values
    const given: DenyInput & AsOf = { ...asOfOf(args), ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) }
    return answer(args, io, 'deny', (source, runId, step) => source.deny(runId, step, given), (runner, runId, step, options) => runner.deny(runId, step, { ...options, ...given }))
  },
}

type Resuming = CallOptions & { readonly resume: true }

async function answer(
  args: Arguments,
  io: Io,
  name: 'approve' | 'deny',
  send: (source: Source, runId: string, step: string) => Promise<void>,
  resumed: (runner: Runner, runId: string, step: string, options: Resuming) => Promise<Outcome | undefined>,
): Promise<number> {
  const [id, step] = args.positionals as [string, string]
  const runId = checkRunId(id)
  if (args.flags.has('resume')) {
    if (args.values['store'] !== undefined) throw usage('--resume goes on in the store of the module', 'Leave --store out')
    const runner = await loadRunner(args.values['module'], io.cwd)
    return drive(runId, runner, args, io, async (options) => (await resumed(runner, runId, step, { ...options, resume: true }))!)
  }
  const source = await openSource(args, io, { reading: false })
  try {
    await send(source, runId, step)
  } finally {
    await source.close()
  }
  const resume = resumeCommand(runId, placeOf(args))
  io.out.write(args.flags.has('json')
    ? jsonText({ runId, step, answer: name, resume })
    : `${oneLine(step)} of run ${runId}: ${name === 'approve' ? 'approved' : 'denied'}\nIt goes on with\n  ${resume}\n`)
  return EXIT.done
}
