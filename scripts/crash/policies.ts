/** The policies under trial: which step it is about, what is said about it, and how a doubt about it comes to its end. */
import type { OnIncompleteTool } from '../../src/reliability/index.ts'

/** What the handler does; `payment.ts` has the code, `model-script.ts` what the model says. */
export type Program = 'tool' | 'composite' | 'step' | 'hosted' | 'effect-key'

/** What ends a doubt: for `rerun`, `skip` and `result` the policy or a person; `reconcile` asks the world; `none`: there is no doubt. */
export type Ending = 'rerun' | 'skip' | 'result' | 'reconcile' | 'none'

export interface Policy {
  readonly program: Program
  /** Id of the step under trial. */
  readonly target: string
  /** Id of the model request whose response comes right before it. */
  readonly response: string
  /** Steps recorded before it. */
  readonly before: number
  /** It has effects and is not idempotent (R2). */
  readonly writesAhead: boolean
  readonly doubt: Ending
  /** Whether the run stops and asks, so that a person brings the ending. */
  readonly asks: boolean
  /** Policy of the tool `pay`. */
  readonly tool?: {
    readonly onIncompleteTool?: OnIncompleteTool
    readonly idempotent?: true
    readonly readOnly?: true
    readonly composite?: true
    /** Looks into the world, or fails to. */
    readonly reconcile?: 'looks' | 'fails'
    readonly effectKey?: true
  }
  /** `onIncompleteTool` of the runner. */
  readonly caller?: OnIncompleteTool
  /** How `run` is asked, in the program `step`. */
  readonly step?: 'plain' | 'keyed' | 'idempotent' | 'read'
  /** The provider's tools change nothing, in the program `hosted`. */
  readonly hostedReadOnly?: true
  /** The run is driven again from its first step on, after the kills. */
  readonly redo?: true
}

const tool = { program: 'tool', target: '1/c:pay', response: '1', before: 3, writesAhead: true, asks: false, doubt: 'none' } as const
const step = { ...tool, program: 'step', target: '2', step: 'plain' } as const
const hosted = { ...tool, program: 'hosted', target: '1', response: '0', before: 2 } as const

export const POLICIES = {
  // A tool with effects that says nothing waits, whatever was decided then (R6).
  'refuse-rerun': { ...tool, doubt: 'rerun', asks: true },
  'refuse-skip': { ...tool, doubt: 'skip', asks: true },
  'refuse-result': { ...tool, doubt: 'result', asks: true },
  rerun: { ...tool, doubt: 'rerun', tool: { onIncompleteTool: 'rerun' } },
  skip: { ...tool, doubt: 'skip', tool: { onIncompleteTool: 'skip' } },
  'rerun-by-caller': { ...tool, doubt: 'rerun', caller: 'rerun' },
  'skip-by-caller': { ...tool, doubt: 'skip', caller: 'skip' },
  // It says "completed" after the effect and "not done" before it; the former process is known to be dead, so both are believed.
  reconcile: { ...tool, doubt: 'reconcile', tool: { reconcile: 'looks' } },
  'reconcile-fails': { ...tool, doubt: 'result', asks: true, tool: { reconcile: 'fails' } },
  idempotent: { ...tool, writesAhead: false, tool: { idempotent: true } },
  'read-only': { ...tool, writesAhead: false, tool: { readOnly: true } },
  // The inner step is in doubt, the call around it never is.
  'composite-inside': { ...tool, program: 'composite', target: '1/c:pay/0', doubt: 'result', asks: true, tool: { composite: true } },
  'composite-call': { ...tool, program: 'composite', writesAhead: false, tool: { composite: true } },
  step: { ...step, doubt: 'result', asks: true },
  'keyed-step': { ...step, step: 'keyed', target: 's:pay:order-1#0', doubt: 'rerun', asks: true },
  'skipped-step': { ...step, doubt: 'skip', caller: 'skip' },
  'idempotent-step': { ...step, step: 'idempotent', writesAhead: false },
  read: { ...step, step: 'read', writesAhead: false },
  // Each model request is the effect: it offers tools that the provider executes.
  hosted: { ...hosted, doubt: 'rerun', asks: true },
  'hosted-rerun': { ...hosted, doubt: 'rerun', caller: 'rerun' },
  'hosted-read-only': { ...hosted, writesAhead: false, hostedReadOnly: true },
  // The doubt about order 1 is skipped, so it stands: another order may be paid, order 1 not without a decision.
  'effect-key': { ...tool, program: 'effect-key', doubt: 'skip', asks: true, tool: { onIncompleteTool: 'skip', effectKey: true } },
  'redo-reuse': { ...tool, doubt: 'result', asks: true, redo: true },
} as const satisfies Readonly<Record<string, Policy>>

export type PolicyName = keyof typeof POLICIES

export const POLICY_NAMES = Object.keys(POLICIES) as PolicyName[]

/** One for each rule: for when there is little time. */
export const QUICK_POLICIES: readonly PolicyName[] = [
  'refuse-rerun', 'refuse-result', 'skip', 'reconcile', 'idempotent', 'composite-inside', 'composite-call', 'step', 'read', 'hosted', 'effect-key', 'redo-reuse',
]

export const policyOf = (name: PolicyName): Policy => POLICIES[name]
