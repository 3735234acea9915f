/** `holdfast approve` and `holdfast deny` */
import type { Arguments } from '../arguments.ts'
import type { Command, CommandSpec } from '../command.ts'
import { asOfOf, parseJson } from '../input.ts'
import { say, SAY_OPTIONS, SECRETS_NOTE } from '../say.ts'

const BY = { name: 'by', value: 'WHO', text: 'who says so: kept, and shown' } as const

/** `own`: the option that only this command has. */
const spec = (name: string, summary: string, own: CommandSpec['options'][number], examples: readonly string[]): CommandSpec => ({
  name, summary, positionals: ['<id>', '<step>'], options: [own, BY, ...SAY_OPTIONS], notes: ['The step is the id that show prints. One answer counts; a second one is refused.', SECRETS_NOTE], examples,
})

export const approve: Command = {
  spec: spec('approve', 'agree to a call that waits for approval', { name: 'input', value: 'JSON', text: 'make it with these arguments in place of those asked for' }, [
    'holdfast approve ticket-123 2/c:call_7', `holdfast approve ticket-123 2/c:call_7 --input '{"order":7,"amount":20}' --by ada --resume`,
  ]),
  run(args, io) {
    const { input } = args.values
    const given = { ...common(args), ...(input !== undefined && { input: parseJson('--input', input) }) }
    return say(args, io, {
      said: 'approved',
      fields: { answer: 'approve' },
      send: (source, runId, step) => source.approve(runId, step, given),
      resume: (runner, runId, step, options) => runner.approve(runId, step, { ...options, ...given }),
    })
  },
}

export const deny: Command = {
  spec: spec('deny', 'refuse a call that waits for approval', { name: 'reason', value: 'TEXT', text: 'the model is told' }, [
    'holdfast deny ticket-123 2/c:call_7', `holdfast deny ticket-123 2/c:call_7 --reason 'over the limit' --by ada --resume`,
  ]),
  run(args, io) {
    const { reason } = args.values
    const given = { ...common(args), ...(reason !== undefined && { reason }) }
    return say(args, io, {
      said: 'denied',
      fields: { answer: 'deny' },
      send: (source, runId, step) => source.deny(runId, step, given),
      resume: (runner, runId, step, options) => runner.deny(runId, step, { ...options, ...given }),
    })
  },
}

const common = (args: Arguments): { readonly asOf?: number; readonly by?: string } => ({ ...asOfOf(args), ...(args.values['by'] !== undefined && { by: args.values['by'] }) })
