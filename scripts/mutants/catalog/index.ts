/** All mutants, in the order of the rules. */
import type { Mutant } from '../mutant.ts'
import { approval } from './approval.ts'
import { cut } from './cut.ts'
import { damage } from './damage.ts'
import { decisions } from './decisions.ts'
import { divergence } from './divergence.ts'
import { doubt } from './doubt.ts'
import { durable } from './durable.ts'
import { fingerprint } from './fingerprint.ts'
import { identity } from './identity.ts'
import { journal } from './journal.ts'
import { keys } from './keys.ts'
import { limits } from './limits.ts'
import { moved } from './moved.ts'
import { owner } from './owner.ts'
import { reliability } from './reliability.ts'
import { replay } from './replay.ts'
import { sameRun } from './same-run.ts'
import { suspend } from './suspend.ts'
import { values } from './values.ts'
import { writeAhead } from './write-ahead.ts'

export const catalog: readonly Mutant[] = [
  ...identity, ...writeAhead, ...durable, ...replay, ...divergence, ...moved, ...doubt, ...keys, ...decisions,
  ...sameRun, ...fingerprint, ...owner, ...suspend, ...approval, ...reliability, ...cut, ...limits, ...journal, ...damage, ...values,
]
