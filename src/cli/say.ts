/** Somebody says something to a run that waits: with its store alone, or with its module, to go on at once. */
import { checkRunId } from '../runner/options.ts'
import type { CallOptions, Runner } from '../runner/runner.ts'
import type { Outcome } from '../runner/outcome.ts'
import type { Arguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import { AS_OF_OPTION, HELP_OPTION, JSON_OPTION, MISMATCH_OPTION, MODULE_OPTION, QUIET_OPTION, STORE_OPTION } from './command.ts'
import { drive, placeOf } from './drive.ts'
import { EXIT } from './exit-code.ts'
import { resumeCommand } from './hint.ts'
import type { Io } from './io.ts'
import { jsonText } from './json.ts'
import { oneLine } from './printable.ts'
import { loadRunner } from './runner-module.ts'
import { openSource, type Source } from './source.ts'

export const SAY_OPTIONS = [
  AS_OF_OPTION, { name: 'resume', text: 'go on with the run at once; needs the module' }, STORE_OPTION, MODULE_OPTION, MISMATCH_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION,
] as const

export const SECRETS_NOTE = 'Secrets of the run in what is given are stored by their names: with the module by those of its runner, with the store alone by those in $HOLDFAST_SECRETS.'

export interface Saying {
  /** For people, such as `approved`; for programs, as fields. */
  readonly said: string
  readonly fields: Readonly<Record<string, string>>
  send(source: Source, runId: string, step: string): Promise<void>
  resume(runner: Runner, runId: string, step: string, options: CallOptions & { readonly resume: true }): Promise<Outcome | undefined>
}

export async function say(args: Arguments, io: Io, saying: Saying): Promise<number> {
  const [id, step] = args.positionals as [string, string]
  const runId = checkRunId(id)
  if (args.flags.has('resume')) {
    if (args.values['store'] !== undefined) throw usage('--resume goes on in the store of the module', 'Leave --store out')
    const runner = await loadRunner(args.values['module'], io)
    return drive(runId, runner, args, io, async (options) => (await saying.resume(runner, runId, step, { ...options, resume: true }))!)
  }
  const source = await openSource(args, io, { reading: false })
  try {
    await saying.send(source, runId, step)
  } finally {
    await source.close()
  }
  const resume = resumeCommand(runId, placeOf(args))
  io.out.write(args.flags.has('json')
    ? jsonText({ runId, step, ...saying.fields, resume })
    : `${oneLine(step)} of run ${runId}: ${saying.said}\nIt goes on with\n  ${resume}\n`)
  return EXIT.done
}
