/** `holdfast resume` */
import { checkRunId } from '../../runner/options.ts'
import { JSON_OPTION, HELP_OPTION, MISMATCH_OPTION, MODULE_OPTION, QUIET_OPTION, type Command, type OptionSpec } from '../command.ts'
import { drive } from '../drive.ts'
import { LIMIT_OPTIONS, readLimits } from '../limits.ts'
import { loadRunner } from '../runner-module.ts'

const REDO_OPTION: OptionSpec = { name: 'redo', value: 'STEP', text: 'drive it again from this step on (several with commas): what came after it is asked for anew, effects are not repeated without a decision' }

const FORCE_OPTION: OptionSpec = { name: 'force', text: 'drive a run once more that is stalled, or that has cleaned up behind its failure' }

export const resume: Command = {
  spec: {
    name: 'resume',
    summary: 'go on with a run where it stopped',
    positionals: ['<id>'],
    options: [REDO_OPTION, FORCE_OPTION, ...LIMIT_OPTIONS, MODULE_OPTION, MISMATCH_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION],
    notes: ['Its agent and input are in its journal. A run that failed is driven again; one that completed gives its recorded result, and nothing is called.', 'Limits count from the start of the run. One that is given here stands until another is given, instead of what the runner says.'],
    examples: ['holdfast resume ticket-123', 'holdfast resume ticket-123 --redo 4', 'holdfast resume ticket-123 --max-steps 40', 'holdfast resume ticket-123 --module ./agents.ts --quiet'],
  },
  async run(args, io) {
    const runId = checkRunId(args.positionals[0])
    const limits = readLimits(args)
    const redo = args.values['redo']
    const runner = await loadRunner(args.values['module'], io)
    return drive(runId, runner, args, io, (options) => runner.resume(runId, { ...options, ...limits, ...(redo !== undefined && { redo: redo.split(',') }), force: args.flags.has('force') }))
  },
}
