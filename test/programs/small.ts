/** Small programs, each about one thing: small enough to be killed at every crossing in turn. */
import type { Behaviour, CallNode, Disturbance, Gate, Node, Program, ReadNode, StepNode, ToolName, Turn, Via } from './program.ts'

const step = (name: string, rest: Partial<StepNode> = {}): StepNode => ({ type: 'step', name, idempotent: false, does: 'ok', ...rest })
const read = (name: string, rest: Partial<ReadNode> = {}): ReadNode => ({ type: 'read', name, does: 'ok', ...rest })
const seq = (...nodes: Node[]): Node => ({ type: 'seq', nodes })
const branches = (...nodes: Node[]): Node => ({ type: 'branches', nodes })
const loop = (script: string, via: Via = 'hand'): Node => ({ type: 'loop', script, via, bound: true })
const call = (tool: ToolName, id: string, does: Behaviour = 'ok', inside?: Node): CallNode => ({ tool, id, arg: 1, does, ...(inside && { inside }) })
const gated = (node: CallNode, answer: Gate['answer'] = 'approve', when: Gate['when'] = true): CallNode => ({ ...node, gate: { when, answer } })
const turn = (...calls: CallNode[]): Turn => ({ calls, dependent: false })

const program = (node: Node, scripts: Program['scripts'] = {}, ...attempts: Disturbance[]): Program => ({ seed: 1, node, scripts, attempts })

export const SMALL: Readonly<Record<string, Program>> = {
  'steps in sequence': program(seq(step('charge'), read('load'), step('charge', { input: 1, idempotent: true }), step('tell', { key: 1 }))),
  'the same step twice': program(seq(step('charge'), step('charge')), {}, {}, { kill: 0.5 }),
  'a loop with tools in parallel': program(loop('a'), { a: [turn(call('pay', 'x'), call('mail', 'y'), call('put', 'z'))] }),
  'repeated call ids': program(loop('a'), { a: [turn(call('pay', 'x'), { ...call('pay', 'x'), arg: 2 }), turn(call('look', 'x'))] }),
  'the same loop twice': program(seq(loop('a'), loop('a', 'generateText')), { a: [turn(call('order', 'x'))] }),
  'a streamed loop': program(loop('a', 'streamText'), { a: [turn(call('note', 'x'), call('look', 'y'))] }),
  'loops in branches, of which one runs at a time later': program(
    branches(loop('a'), seq(step('tell'), loop('b', 'hand-stream'))),
    { a: [turn(call('pay', 'x'))], b: [turn(call('pay', 'x'))] },
    {},
    { width: 1 },
  ),
  'a stream that breaks inside an agent': program(
    { type: 'agent', name: 'child', node: loop('a', 'hand-stream') },
    { a: [{ ...turn(call('mail', 'x')), fault: { type: 'break', times: 1 } }] },
  ),
  'a stream that breaks beside an agent whose code waits outside of steps': program(
    branches({ type: 'agent', name: 'child', node: { type: 'keyed', steps: [{ ...step('charge'), key: 2 }], waitMs: 200 } }, loop('a', 'hand-stream')),
    { a: [{ ...turn(), fault: { type: 'break', times: 2 } }] },
  ),
  'an agent inside a tool': program(
    loop('a'),
    { a: [turn(call('team', 'x', 'ok', seq(step('charge'), loop('b'))), call('team', 'y', 'ok', step('tell')))], b: [turn(call('look', 'x'))] },
  ),
  'a step that waits beside a request that is refused': {
    ...program({ type: 'tangled', nodes: [step('ship'), loop('a')], waitMs: 0 }, { a: [] }), unstable: true,
  },
  'a step that times out around an effect that goes on': program(
    step('outer', { idempotent: true, inside: seq(read('load'), step('charge', { does: 'late' })) }),
  ),
  'a tool that is cut around a payment that goes on, and is asked for again': program(
    loop('a'),
    { a: [turn(call('crew', 'x', 'ok', loop('b'))), turn(call('crew', 'y', 'ok', loop('b')), call('pay', 'z'))], b: [turn(call('pay', 'x', 'late'))] },
  ),
  'a tool that is cut around a request that is asked again much later': program(
    loop('a'), { a: [turn(call('crew', 'x', 'ok', loop('b')))], b: [{ ...turn(), fault: { type: 'wait', times: 1 } }] },
  ),
  'a step without input that somebody gave a result, behind a read that was not recorded': program(
    branches(seq({ type: 'wait', ms: 1_500 }, { type: 'chain', read: 'load', step: step('ship') }), step('ship', { does: 'hang-after' })), {}, { refuse: [4] },
  ),
  'a long Retry-After beside a step': program(branches(loop('a'), step('ship')), { a: [{ ...turn(), fault: { type: 'wait', times: 1 } }] }),
  'requests side by side, asked in another order': program(
    { type: 'asks', asks: [{ prompt: 'one', system: 0 }, { prompt: 'one', system: 1 }, { prompt: 'two', system: 0 }], shuffled: true },
  ),
  'requests side by side, and a deploy': program(
    { type: 'asks', asks: [{ prompt: 'one', system: 0 }, { prompt: 'two', system: 0 }], shuffled: false },
    {},
    { version: 2 },
  ),
  'a race, and what uses its winner': program({ type: 'race', racers: [[step('a')], [read('b')]], use: 'winner' }),
  'a race of branches': program({ type: 'race', racers: [[step('a'), read('b')], [read('c'), read('d')]], use: 'winner' }),
  'a race that the longer branch wins': { ...program({ type: 'race', racers: [[read('a'), { type: 'wait', ms: 30 }, read('b')], [read('c')]], use: 'winner' }), seed: 3 },
  'steps with keys side by side': program({ type: 'keyed', steps: [{ ...step('charge'), key: 1 }, { ...step('charge'), key: 2 }], waitMs: 50 }),
  'a refund that throws after it was made, and is asked for again': program(
    loop('a'),
    { a: [turn(call('mail', 'x', 'reset-after')), turn(call('mail', 'y'))] },
  ),
  'a refund that hangs': program(loop('a'), { a: [turn(call('pay', 'x', 'hang-after')), turn(call('look', 'y', 'flaky'))] }),
  'a refund that comes late, and is asked for again': program(loop('a'), { a: [turn(call('order', 'x', 'late')), turn(call('order', 'y'))] }),
  'a read that the store refuses, and a step that uses it': program(
    seq({ type: 'chain', read: 'load', step: step('charge') }, step('tell')),
    {},
    { refuse: [2] },
  ),
  'a response that the store refuses': program(loop('a'), { a: [turn(call('pay', 'x'), call('put', 'y'))] }, { refuse: [3] }),
  'a response that the store refuses, and another one the next time': program(
    loop('a'),
    { a: [{ ...turn(call('look', 'x'), call('team', 'y', 'ok', read('load')), call('pay', 'z')), fickle: true }] },
    { refuse: [3] },
  ),
  'a call that somebody has to agree to': program(loop('a'), { a: [turn(gated(call('pay', 'x')))] }),
  'a call that somebody has to agree to, where one with other arguments needs nobody': program(
    loop('a', 'generateText'), { a: [turn(gated(call('mail', 'x'), 'change')), turn(gated(call('mail', 'x'), 'approve', false), gated(call('mail', 'y'), 'approve', 'throws'))] },
  ),
  'two calls that somebody has to agree to beside one that needs nobody': program(
    loop('a'), { a: [turn(gated(call('order', 'x'), 'change'), call('put', 'y'), gated(call('pay', 'z'), 'deny')), turn(call('look', 'x'))] },
  ),
  'a call that somebody has to agree to inside of a tool': program(
    loop('a'), { a: [turn(call('team', 'x', 'ok', seq(step('charge'), loop('b'))), call('look', 'y'))], b: [turn(gated(call('mail', 'x')), gated(call('put', 'y'), 'deny'))] },
  ),
  'a call that nobody agrees to in time': { ...program(loop('a', 'hand-stream'), { a: [turn(gated(call('pay', 'x'), 'lapse'), call('put', 'y'))] }), expiresAfterMs: 60_000 },
  'a call that somebody agrees to and that hangs': program(loop('a'), { a: [turn(gated(call('order', 'x', 'hang-after'), 'change')), turn(gated(call('order', 'y'), 'change'))] }),
  'a call that somebody has to agree to, of a response that the store refuses': program(
    loop('a'), { a: [{ ...turn(gated(call('pay', 'x')), gated(call('look', 'y'), 'deny')), fickle: true }] }, { refuse: [3] },
  ),
  'a batch of which two fail': program({ type: 'batch', throws: 'first', nodes: [seq(step('charge', { input: 1 }), { type: 'fails', key: 1, times: 1 }), step('tell', { input: 2 }), { type: 'fails', key: 2, times: 1 }] }),
  'agents side by side of which one fails': program(branches({ type: 'agent', name: 'child', node: seq(step('charge', { input: 1 }), { type: 'fails', key: 1, times: 1 }) }, { type: 'agent', name: 'child', key: 1, node: step('tell') })),
  'a handler that fails twice': program(branches(seq(step('charge'), { type: 'throw', attempts: 2 }), loop('a')), { a: [turn(call('mail', 'x'))] }),
}

/** What a process that is paused and wakes when another has taken over could do wrong. */
export const PAUSED: Readonly<Record<string, Program>> = {
  'steps in sequence': program(seq(step('charge'), step('charge', { input: 1 }), read('load')), {}, { thaw: 14 }),
  'a loop with tools in parallel': program(loop('a'), { a: [turn(call('pay', 'x'), call('mail', 'y'), call('put', 'z'))] }, { thaw: 20 }),
  'calls that somebody has to agree to': program(loop('a'), { a: [turn(gated(call('pay', 'x'), 'change'), gated(call('put', 'y')), gated(call('mail', 'z'), 'deny'))] }, { thaw: 12 }),
  'the end of the run': program(step('tell', { idempotent: true }), {}, { thaw: 3 }),
}

/** What a process that stood still for a while could do wrong: its time limits are over when it wakes. */
export const ASLEEP: Readonly<Record<string, Program>> = {
  'steps in steps': program(seq(step('outer', { idempotent: true, inside: seq(step('charge'), step('tell', { input: 1 })) }), step('charge'))),
  'a step that is tried again inside of one that has timed out': program(
    step('outer', { idempotent: true, inside: seq(step('tell', { idempotent: true, does: 'flaky' }), step('charge')) }),
  ),
  'a step of which the store refuses a record, inside of one that has timed out': {
    ...program(step('outer', { idempotent: true, inside: step('tell', { idempotent: true }) }), {}, { refuse: [3] }), hasty: true,
  },
  'a loop with tools in parallel': program(loop('a'), { a: [turn(call('pay', 'x'), call('mail', 'y'), call('put', 'z')), turn(call('mail', 'x'))] }),
  'calls that somebody has to agree to': program(loop('a'), { a: [turn(gated(call('mail', 'x')), gated(call('put', 'y'), 'deny', 'throws'), gated(call('pay', 'z'), 'approve', false))] }),
  'a streamed loop': program(loop('a', 'streamText'), { a: [turn(call('team', 'x', 'ok', step('charge')))] }),
}
