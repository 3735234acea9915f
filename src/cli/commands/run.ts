/** `holdfast run` */
import { checkRunId } from '../../runner/options.ts'
import { JSON_OPTION, HELP_OPTION, MISMATCH_OPTION, MODULE_OPTION, QUIET_OPTION, type Command } from '../command.ts'
import { drive } from '../drive.ts'
import { readInput } from '../input.ts'
import { LIMIT_OPTIONS, readLimits } from '../limits.ts'
import { loadRunner } from '../runner-module.ts'

export const run: Command = {
  spec: {
    name: 'run',
    summary: 'start a run, or resume it, or print what it gave',
    positionals: ['<agent>', '[-]'],
    options: [
      { name: 'id', value: 'ID', text: 'id of the run: the same id resumes it' },
      { name: 'input', value: 'JSON', text: 'input of the agent; default: none' },
      { name: 'input-file', value: 'FILE', text: 'the input from a file; - for standard input' },
      { name: 'thread', value: 'ID', text: 'the thread that the run belongs to, such as a chat' },
      ...LIMIT_OPTIONS, MODULE_OPTION, MISMATCH_OPTION, QUIET_OPTION, JSON_OPTION, HELP_OPTION,
    ],
    notes: [
      'Prints the result on standard output (a text as it is, anything else as JSON) and what happens on standard error, one line an event.',
      'SIGINT and SIGTERM suspend the run: running steps may end, none starts, and resume goes on from there. A second signal ends the process at once.',
    ],
    examples: [
      `holdfast run support --id ticket-123 --input '{"question":"Where is order 7?"}'`,
      'holdfast run support --id ticket-123 --input-file ticket.json --module ./agents.ts',
      'generate-ticket | holdfast run support --id ticket-124 --json -',
    ],
  },
  async run(args, io) {
    const agent = args.positionals[0]!
    const runId = checkRunId(args.values['id'])
    const input = await readInput(args, io)
    const limits = readLimits(args)
    const runner = await loadRunner(args.values['module'], io)
    const { thread: threadId } = args.values
    return drive(runId, runner, args, io, (options) => runner.run(agent, input, { ...options, ...limits, runId, ...(threadId !== undefined && { threadId }) }))
  },
}
