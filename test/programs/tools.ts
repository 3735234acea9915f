/** The tools of every program: what they are declared to be, and what they do. */
import { jsonSchema, tool, type ToolSet } from 'ai'
import { currentStep, type DoubtfulCall, type Reconciled, type ToolPolicies, type ToolPolicy } from '../../src/index.ts'
import { judgeApproval } from './approval.ts'
import { perform, TOOL_MS } from './effect.ts'
import { position } from './position.ts'
import type { Node, Program, ToolName } from './program.ts'
import { digest, type Arguments } from './scripted-model.ts'
import { never, type Session } from './session.ts'
import type { CallSpec } from './call.ts'

export const TOOLS: readonly ToolName[] = ['pay', 'mail', 'order', 'note', 'post', 'put', 'look', 'team', 'crew']

type Rule = Pick<CallSpec, 'repeatable' | 'rerunAllowed' | 'effect' | 'keyed'>

/** What the oracle knows of a tool. */
export function ruleOf({ onIncompleteTool }: Program, name: ToolName, input: Arguments): Rule {
  switch (name) {
    case 'put':
    case 'look':
    case 'team':
    case 'crew':
      return { repeatable: true }
    case 'order':
      return { repeatable: false, effect: `tool ${name} ${input.arg}`, keyed: true }
    case 'post':
      return { repeatable: false, effect: `tool ${name}`, rerunAllowed: true }
    case 'pay':
      return { repeatable: false, effect: `tool ${name}`, rerunAllowed: onIncompleteTool === 'rerun' }
    default:
      return { repeatable: false, effect: `tool ${name}` }
  }
}

/** What a tool gives for a call: it says whose it is. */
export const outputOf = (position: string, input: unknown): { readonly of: string; readonly input: unknown } => ({ of: position, input })

/** `runPart` runs a part of the program inside the tool `team`. */
export function toolsOf(
  session: Session,
  runPart: (input: Arguments, position: string) => Promise<unknown>,
): { tools: ToolSet; policies: ToolPolicies<ToolSet> } {
  const { version = 0 } = session.disturbance
  const inputSchema = jsonSchema<Arguments>({ type: 'object', properties: { arg: { type: 'number' } } })
  const execute = (name: ToolName) => (input: Arguments): Promise<unknown> => {
    const at = position()!
    const rule = ruleOf(session.program, name, input)
    const call = session.world.get(at)!
    if (!session.frozen) judgeApproval(session.world, session, call, input)
    // What it does is told by what it is called with.
    call.spec = { ...call.spec, ...rule, input }
    if (name === 'team' || name === 'crew') return runPart(input, at)
    return perform({ session, position: at, does: input.does, key: currentStep()!.idempotencyKey, output: outputOf(at, input), repeatable: rule.repeatable })
  }
  const tools = Object.fromEntries(TOOLS.map((name) => [
    name,
    tool({ description: `The tool ${name}, version ${version}`, inputSchema, execute: execute(name) }),
  ]))
  const reconcile = (call: DoubtfulCall<unknown>): Promise<Reconciled<unknown>> => askWorld(session, call)
  const policies: ToolPolicies<ToolSet> = {
    mail: { reconcile },
    order: { reconcile, effectKey: (input: unknown) => String((input as Arguments).arg) },
    note: { onIncompleteTool: 'skip' },
    post: { onIncompleteTool: 'rerun' },
    put: { idempotent: true },
    look: { readOnly: true },
    team: { composite: true },
    crew: { composite: true, timeoutMs: TOOL_MS },
  }
  return { tools, policies: Object.fromEntries(TOOLS.map((name) => [name, { ...policies[name], ...approvalPolicy(session, name) }])) }
}

/** Without a condition where all of its calls are asked about, and nothing of it where none has one. */
function approvalPolicy(session: Session, name: ToolName): ToolPolicy<never, unknown> {
  const { scripts, expiresAfterMs } = session.program
  const gates = Object.values(scripts).flatMap((turns) => turns.flatMap(({ calls }) => calls.filter(({ tool }) => tool === name).map(({ gate }) => gate)))
  if (!gates.some((gate) => gate)) return {}
  const expires = expiresAfterMs !== undefined && { expiresAfterMs }
  if (gates.every((gate) => gate?.when === true)) return { approval: expires || true }
  const when = async ({ gate }: Arguments): Promise<boolean> => {
    if ((await session.cross('condition of an approval')) || session.frozen) return never()
    if (gate?.when === 'throws') throw new Error('nobody knows')
    return gate?.when ?? false
  }
  return { approval: { when, ...expires } }
}

async function askWorld(session: Session, { idempotencyKey }: DoubtfulCall<unknown>): Promise<Reconciled<unknown>> {
  if ((await session.cross('before reconcile')) || session.frozen) return never()
  await session.latency()
  if (session.frozen) return never()
  const effect = session.world.ask(session, idempotencyKey)
  if ((await session.cross('after reconcile')) || session.frozen) return never()
  return effect ? { status: 'completed', output: effect.output } : { status: 'not-done' }
}

/** Parts of a program that `team` runs, by the digest of their data. */
export function partsOf({ scripts }: Program): ReadonlyMap<string, Node> {
  const calls = Object.values(scripts).flatMap((turns) => turns.flatMap((turn) => turn.calls))
  return new Map(calls.flatMap(({ inside }) => (inside ? [[digest(inside), inside] as const] : [])))
}
