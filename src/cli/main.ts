/** From arguments to an exit code: finds the command, runs it, shows what it throws. */
import { nearestNames } from '../reliability/nearest.ts'
import { parseArguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import { COMMANDS } from './commands.ts'
import { reportError } from './error-report.ts'
import { EXIT, exitCodeOf } from './exit-code.ts'
import { commandHelp, programHelp } from './help.ts'
import type { Runner } from '../runner/runner.ts'
import type { Io } from './io.ts'
import { packageVersion } from './version.ts'

/** Resolves to the exit code, whatever happens. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let runner: Partial<Runner> | undefined
  try {
    return await dispatch(argv, { ...io, onRunner: (loaded) => void (runner = loaded) })
  } catch (error) {
    const code = exitCodeOf(error)
    // What was given is said again in errors, such as the id of a run that is not there.
    reportError(runner?.mask ? runner.mask(error) : error, code, argv.includes('--json'), io)
    return code
  }
}

async function dispatch([name, ...rest]: readonly string[], io: Io): Promise<number> {
  const help = programHelp(COMMANDS.map(({ spec }) => spec))
  switch (name) {
    case undefined:
      io.err.write(help)
      return EXIT.badInput
    case '--version':
      io.out.write(`${packageVersion()}\n`)
      return EXIT.done
    case '--help':
    case '-h':
    case 'help':
      io.out.write(rest[0] === undefined ? help : commandHelp(commandOf(rest[0]).spec))
      return EXIT.done
  }
  const command = commandOf(name)
  const args = parseArguments(command.spec, rest)
  if (!args.flags.has('help')) return command.run(args, io)
  io.out.write(commandHelp(command.spec))
  return EXIT.done
}

function commandOf(name: string): (typeof COMMANDS)[number] {
  const found = COMMANDS.find(({ spec }) => spec.name === name)
  if (found) return found
  const names = COMMANDS.map(({ spec }) => spec.name)
  if (name.startsWith('-')) throw usage(`holdfast has no option ${name}`, 'Options follow their command: holdfast <command> [options]')
  const [nearest] = nearestNames(name, names, 1)
  throw usage(`holdfast has no command ${JSON.stringify(name)}`, nearest === undefined ? `Its commands are ${names.join(', ')}` : `Did you mean ${nearest}?`)
}
