/** The commands, in the order of the help. */
import type { Command } from './command.ts'
import { approve, deny } from './commands/approve.ts'
import { list } from './commands/list.ts'
import { recover } from './commands/recover.ts'
import { resolve } from './commands/resolve.ts'
import { resume } from './commands/resume.ts'
import { run } from './commands/run.ts'
import { salvage } from './commands/salvage.ts'
import { show } from './commands/show.ts'
import { verify } from './commands/verify.ts'

export const COMMANDS: readonly Command[] = [run, resume, recover, list, show, resolve, approve, deny, verify, salvage]
