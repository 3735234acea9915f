/** What happens in the demo, from the first process to the table. Its result is the exit code. */
import { join } from 'node:path'
import { AgentProcess, type AgentEnd } from './agent-process.ts'
import type { Children } from './children.ts'
import type { Job } from './job.ts'
import { KillPlan } from './kill-plan.ts'
import type { LedgerView } from './ledger.ts'
import { Narrator } from './narrator.ts'
import type { Options } from './options.ts'
import type { EffectReason } from '../src/index.ts'
import { doubtsIn, holdfast, lookInto, resolveArguments, typed } from './person.ts'
import { servicesAt } from './services.ts'
import { startStage, type Stage } from './stage.ts'
import { eachExactlyOnce, printTable, type Verdict } from './table.ts'
import type { Terminal } from './terminal.ts'
import { ticket } from './ticket.ts'

/** One that is killed, one that goes on, and one for each time that a person decides. */
const MOST_PROCESSES = 8

export async function play(options: Options, terminal: Terminal, children: Children, folder: string): Promise<number> {
  const plan = new KillPlan(options.killAt)
  terminal.print(terminal.style('strong', 'An agent refunds an order. Its process is killed. A second one goes on.'))
  let agent: AgentProcess | undefined
  const stage = await startStage(children, options.live, (message, world) => void agent?.reach(message, world))
  const storePath = join(folder, 'runs.db')
  terminal.line('world', `pid ${stage.world.pid}: payments, mail, tickets, orders, policies; it counts what it sees`)
  terminal.line('model', stage.model.pid === undefined ? `${stage.model.access.id} at ${stage.model.access.url}` : `pid ${stage.model.pid}: answers over HTTP from a script, with faults`)
  terminal.line('store', storePath)

  let end: AgentEnd = { type: 'failed', message: 'nothing was run' }
  for (let n = 1; n <= MOST_PROCESSES; n++) {
    const narrator = new Narrator(terminal)
    const job: Job = { storePath, worldUrl: stage.world.url, model: stage.model.access, refuse: options.refuse, mayBeKilled: n === 1 }
    agent = new AgentProcess(children, job, plan, (message) => narrator.hear(message))
    terminal.print()
    terminal.print(terminal.style('strong', `Process ${n} of the agent (pid ${agent.pid}), run id ${ticket.id}`))
    end = await agent.ended
    if (end.type === 'killed') {
      terminal.line('SIGKILL', `at point ${plan.killed!.number}: ${plan.killed!.what}`, 'bad')
      continue
    }
    if (end.type !== 'outcome' || end.outcome.status !== 'suspended') break
    const doubts = doubtsIn(end.outcome.reasons)
    if (doubts.length === 0) break
    await leaveToPerson(doubts, stage, storePath, terminal)
  }
  return conclude(end, plan, options, stage, terminal)
}

/** `--refuse`: the run waits, without a process, until somebody has said what became of the calls in doubt. */
async function leaveToPerson(doubts: readonly EffectReason[], stage: Stage, storePath: string, terminal: Terminal): Promise<void> {
  const services = servicesAt(stage.world.url)
  for (const doubt of doubts) {
    terminal.line('suspended', doubt.message, 'wait')
    const receipt = await lookInto(doubt, services)
    const args = resolveArguments(ticket.id, doubt.step, receipt, storePath)
    terminal.line('person', `looks into the service: ${receipt === null ? 'nothing was done there' : 'it was done'}, and says`)
    terminal.print(`            $ ${terminal.style('strong', typed(args))}`)
    await holdfast(args)
  }
}

async function conclude(end: AgentEnd, plan: KillPlan, options: Options, stage: Stage, terminal: Terminal): Promise<number> {
  terminal.print()
  const view = (await (await fetch(`${stage.world.url}/ledger`)).json()) as LedgerView
  const modelRequests = await stage.model.countRequests()
  if (options.listPoints) for (const [i, what] of plan.points.entries()) terminal.print(`${String(i + 1).padStart(5)}  ${what}`)
  printTable(terminal, view, modelRequests)

  const completed = end.type === 'outcome' && end.outcome.status === 'completed'
  if (completed) terminal.print(`\n  ${end.outcome.result}`)
  else terminal.print(terminal.style('bad', `\n  The run did not come to its end: ${describe(end)}`))
  const ok = completed && eachExactlyOnce(view)
  const seed = options.killAt.type === 'point' && options.killAt.seed !== undefined ? `, seed ${options.killAt.seed}` : ''
  terminal.print(terminal.style(ok ? 'good' : 'bad', `  ${ok ? 'Each effect exactly once' : 'NOT as it should be'}${seed}, in ${(terminal.elapsedMs / 1000).toFixed(1)} s`))

  const missed = options.killAt.type !== 'never' && !plan.killed
  if (missed) terminal.print(terminal.style('bad', `  But nothing was killed: ${options.killAt.type === 'point' ? `point ${options.killAt.number} was not reached, the run has ${plan.points.length}` : 'the refund was not reached'}`))

  if (options.json) {
    const verdict: Verdict = {
      ok,
      effects: view.effects.map(({ name, times, requests }) => ({ effect: name, times, requests: requests.withKey + requests.withoutKey, withoutKey: requests.withoutKey })),
      requests: view.requests,
      modelRequests: modelRequests ?? null,
      killedAt: plan.killed ? { point: plan.killed.number, what: plan.killed.what } : null,
      points: plan.points.length,
      ms: Math.round(terminal.elapsedMs),
    }
    process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`)
  }
  // A point that does not exist is a wrong flag; a seed cannot know.
  if (missed && options.killAt.type === 'point' && options.killAt.seed === undefined) return 2
  return ok && !(missed && options.killAt.type === 'effect') ? 0 : 1
}

function describe(end: AgentEnd): string {
  if (end.type === 'failed') return end.message
  if (end.type === 'killed') return 'its process was killed'
  const { outcome } = end
  return outcome.status === 'suspended' ? `suspended: ${outcome.reasons.map(({ message }) => message).join('; ')}` : outcome.status
}
