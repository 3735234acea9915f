/** Drives a program through its attempts until its run ends, and judges what the world saw. */
import { seededRandom } from '../../src/core/random.ts'
import { createRunner, HoldfastError, memoryStore } from '../../src/index.ts'
import type { AttemptSummary, Outcome, Runner, StampedEvent, Store } from '../../src/index.ts'
import { LEASE_MS, TOOL_MS } from './effect.ts'
import { isFatal } from './failures.ts'
import { agentOf } from './interpret.ts'
import { answerQuestion, isApproval } from './approver.ts'
import { settle } from './person.ts'
import { position } from './position.ts'
import type { Disturbance, Program } from './program.ts'
import { Session } from './session.ts'
import { verifyStored } from '../../src/journal/verify.ts'
import { storeOf } from './store.ts'
import { Timeline } from './timeline.ts'
import type { Violation } from './violation.ts'
import { World } from './world.ts'

const RUN_ID = 'run'
/** So many attempts beyond those that are disturbed are enough for every program of the generator. */
const MAX_CALM_ATTEMPTS = 60
/** Longest attempt, simulated ms. */
const MAX_ATTEMPT_MS = 3_600_000
const MAX_TIMERS = 20_000

export interface Execution {
  readonly violations: readonly Violation[]
  readonly result: unknown
  readonly attempts: number
  readonly requests: number
  readonly kills: number
  /** The result may differ from that of an undisturbed execution. */
  readonly altered: boolean
  readonly unstable: boolean
  /** Crossings of the first attempt. */
  readonly crossings: number
  readonly decisions: number
  readonly answers: number
  readonly log: readonly string[]
}

type Ended =
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'killed' }
  | { readonly type: 'paused' }
  | { readonly type: 'endless' }

export async function execute(program: Program): Promise<Execution> {
  const world = new World(program)
  const timeline = new Timeline()
  const store = memoryStore()
  const deadOwners = new Set<string>()
  const random = seededRandom(program.seed + 7)
  let session: Session | undefined
  let runner: Runner | undefined
  let number = 0
  let crossings = 0
  let kills = 0
  let result: unknown
  /** What somebody does during the next attempt. */
  let later: (() => void) | undefined
  const done = (): Execution => ({
    violations: world.violations,
    result,
    attempts: number,
    requests: world.requests,
    kills,
    altered: world.altered,
    unstable: world.loose,
    crossings,
    decisions: world.decisions,
    answers: world.answers,
    log: world.log,
  })

  for (;;) {
    number++
    if (number > program.attempts.length + MAX_CALM_ATTEMPTS) {
      // What asks for something else each time may do so for ever.
      if (!world.loose) world.violate('endless', `no end after ${number - 1} attempts`)
      return done()
    }
    const disturbance: Disturbance = program.attempts[number - 1] ?? {}
    const former: Session | undefined = session
    session = new Session({ program, world, timeline, number, disturbance })
    if (former?.isPaused) session.meanwhile(former.disturbance.thaw ?? 1, () => former.thaw())
    const isAsked = later !== undefined
    if (later) session.meanwhile(1 + Math.floor(random() * 60), later)
    later = undefined
    runner = runnerOf(session, storeOf(session, store, deadOwners))
    const asking = session
    const approver = createRunner({ agents: [], store, clock: timeline.clock })
    session.onQuestion = (question) => {
      if (random() < 0.3) asking.meanwhile(asking.crossings + 1 + Math.floor(random() * 20), () => void answerQuestion({ runner: approver, runId: RUN_ID, session: asking, late: true }, question))
    }
    const { owner } = world
    const wasOver = owner?.isOver === true && program.attempts.every(({ pause }) => pause === undefined)
    const ended = await attempt(session, runner)
    if (number === 1) crossings = session.crossings
    for (const { message } of (await verifyStored(store, RUN_ID)).findings) world.violate('stored', message)
    if (world.violations.length > 0) return done()
    switch (ended.type) {
      case 'endless':
        world.violate('endless', `attempt ${number} does not end: open are ${[...session.open.keys()].join(', ') || 'no calls'}`)
        return done()
      case 'paused':
        await timeline.pass(LEASE_MS + 1)
        continue
      case 'killed':
        kills++
        if (disturbance.knownDead) deadOwners.add(session.name)
        else await timeline.pass(LEASE_MS + 1)
        break
      case 'threw': {
        // The end of a run that asks for something else each time.
        if (world.loose && HoldfastError.isInstance(ended.error) && (ended.error.code === 'RUN_STALLED' || ended.error.code === 'AMBIGUOUS_STEP')) return done()
        if (isCleanedUp(ended.error)) {
          if (session.live.size > 0) world.violate('ended-again', `${session.name} calls ${[...session.live].join(', ')} in a run that is not driven again by itself`)
          world.isRefused = true
          break
        }
        if (!isExplained(ended.error, disturbance)) {
          world.violate('unexpected-error', `attempt ${number} threw ${String(ended.error)}`)
          return done()
        }
        world.fail(session, HoldfastError.isInstance(ended.error) ? ended.error.cause : undefined)
        break
      }
      case 'outcome': {
        const { outcome } = ended
        if (outcome.status === 'completed') {
          result = outcome.result
          await checkEnd(session, store, result)
          return done()
        }
        if (outcome.status === 'running') {
          // The store may have refused its last write, and then that it gives the lease back.
          if (wasOver && (owner?.disturbance.refuse?.length ?? 0) < 2) {
            world.violate('lease-kept', `attempt ${number} finds the run owned by ${owner?.name}, which has ended`)
          }
          await timeline.pass(LEASE_MS)
        }
        if (outcome.status === 'suspended') {
          world.log.push(`   suspended: ${outcome.reasons.map((reason) => `${reason.type} ${'step' in reason ? reason.step : ''}`).join(', ')}`)
          if (outcome.resumeAt !== undefined && random() < 0.7) await timeline.pass(Math.max(0, outcome.resumeAt - timeline.now()))
          const asked = {
            runner: createRunner({ agents: [agentOf(session)], store, clock: timeline.clock }),
            runId: RUN_ID, session, reasons: outcome.reasons, random, all: number % 4 === 0,
          }
          if (random() < 0.2) later = () => void settle({ ...asked, late: true })
          else await passWhile(timeline, settle({ ...asked, late: isAsked }))
        }
        break
      }
    }
    // A process that is still there may end now, or go on with what it has not finished.
    if (random() < 0.5) session.kill('its end')
    if (world.violations.length > 0) return done()
  }
}

function runnerOf(session: Session, store: ReturnType<typeof storeOf>): Runner {
  const { world, program: { hasty, onIncompleteTool, onConfigChange } } = session
  const runner = createRunner({
    agents: [agentOf(session)],
    store,
    clock: session.clock,
    random: session.random,
    ...(hasty && { retry: { backoff: { baseMs: 20 } } }),
    ...(onIncompleteTool && { onIncompleteTool }),
    ...(onConfigChange && { onConfigChange }),
    leaseMs: LEASE_MS,
    timeouts: { toolMs: TOOL_MS, modelMs: 60_000 },
    onEvent: (event) => observe(session, event),
  })
  session.onClose = () => {
    world.log.push(`${session.name} closes its runner`)
    void runner.close()
  }
  return runner
}

/** Events that a step tells about itself; others are about what it waits for. */
const OWN_EVENTS: ReadonlySet<string> = new Set(['step-started', 'step-finished', 'step-replayed', 'step-waiting'])

/** Events are told in the context of the step that they are about. */
function observe(session: Session, event: StampedEvent): void {
  if (session.frozen) return
  const { world } = session
  const at = position()
  if (OWN_EVENTS.has(event.type) && 'step' in event && at !== undefined) {
    world.steps.set(event.step, at)
    session.steps.set(event.step, at)
  }
  if (event.type === 'step-waiting') world.log.push(`${session.name} ${at} (${event.step}) waits: ${event.reason.message.slice(0, 120)}`)
  if (event.type === 'step-waiting' && isApproval(event.reason)) session.onQuestion(event.reason)
  if (event.type === 'step-finished' && at !== undefined) world.announce(session, at)
  if (event.type === 'step-finished' || event.type === 'step-replayed') session.tell(event.type, event.step)
  if (event.type === 'attempt-ended') checkSummary(session, event.summary)
  if (event.type === 'replay-diverged') world.log.push(`${session.name} diverged at ${event.step}: ${event.reason}`)
  if (event.type === 'warning' && event.code === 'NOT_RECORDED' && at !== undefined) session.unrecorded.add(at)
  if (event.type === 'warning') world.log.push(`${session.name} warning ${event.code}: ${event.message}`)
}

/** What an attempt says of itself is what it told while it went on (C21). */
function checkSummary({ world, name, finished, replayed, open }: Session, summary: AttemptSummary): void {
  // What still goes on when an attempt gives up waiting for it may be recorded or not.
  if (open.size > 0) return
  const sum = (counts: AttemptSummary['replayed']): number => Object.values(counts).reduce((all, n) => all + n, 0)
  const recorded = [...finished].filter((step) => !summary.unrecorded.includes(step)).length
  const said = `replayed ${sum(summary.replayed)}, recorded ${sum(summary.recorded)}`
  const told = `replayed ${replayed.size}, recorded ${recorded}`
  if (said !== told) world.violate('summary', `${name} says ${said}, and told: ${told}`)
}

async function attempt(session: Session, runner: Runner): Promise<Ended> {
  const { program, timeline, world } = session
  let ended: Ended | undefined
  const force = world.isRefused
  world.isRefused = false
  const call = session.number % 2 === 1 ? runner.run('program', { program: program.seed }, { runId: RUN_ID, force })
    : session.number % 4 === 0 ? resumeOrRun(runner, program, force) : recoverOrResume(session, runner, force)
  call.then(
    (outcome) => {
      session.isOver = !session.frozen
      ended ??= { type: 'outcome', outcome }
      if (outcome.status !== 'completed' || !session.drove || world.owner === session || world.endedBy === session) return
      world.violate('zombie', `${session.name} completes the run although ${world.owner?.name} owns it`)
    },
    (error: unknown) => {
      session.isOver = !session.frozen
      ended ??= { type: 'threw', error }
    },
  )
  const isOver = (): boolean => {
    if (session.frozen) ended ??= { type: 'killed' }
    if (session.isPaused) ended ??= { type: 'paused' }
    return ended !== undefined || world.violations.length > 0
  }
  const inTime = await timeline.drive(isOver, timeline.now() + MAX_ATTEMPT_MS, MAX_TIMERS)
  if (!inTime || ended === undefined) {
    session.kill('judged')
    return { type: 'endless' }
  }
  return ended
}

/** Found by whoever looks for runs that nobody drives, if it is one of those. */
async function recoverOrResume(session: Session, runner: Runner, force: boolean): Promise<Outcome> {
  const { world, timeline, program } = session
  const row = await runner.get(RUN_ID)
  const isDue = row?.status === 'suspended' && row.resumeAt !== null && row.resumeAt <= timeline.now()
  const [recovered] = await runner.recover()
  // A process that was paused may have taken it in between.
  const isAlone = program.attempts.every(({ pause }) => pause === undefined)
  if (!recovered && isDue && isAlone && !session.frozen && session.disturbance.close === undefined) world.violate('not-recovered', `${session.name} does not find the run, which is due`)
  if (recovered && row?.status === 'failed') world.violate('not-recovered', `${session.name} drives the run, which has failed`)
  if (!recovered) return resumeOrRun(runner, program, force)
  if ('error' in recovered) throw recovered.error
  return recovered.outcome
}

/** A kill may have come before the run was created. */
const resumeOrRun = async (runner: Runner, program: Program, force: boolean): Promise<Outcome> => {
  try {
    return await runner.resume(RUN_ID, { force })
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== 'UNKNOWN_RUN') throw error
    return runner.run('program', { program: program.seed }, { runId: RUN_ID })
  }
}

const isCleanedUp = (error: unknown): boolean => HoldfastError.isInstance(error) && error.code === 'RUN_CLEANED_UP'

function isExplained(error: unknown, { refuse, close }: Disturbance): boolean {
  if (!HoldfastError.isInstance(error)) return false
  if (error.code === 'RUN_FAILED') return isFatal(error.cause)
  if (error.code === 'STORE_UNAVAILABLE') return refuse !== undefined
  return error.code === 'RUNNER_CLOSED' && close !== undefined
}

/** A run that has ended gives its result again, and calls nothing. */
async function checkEnd(last: Session, store: Store, result: unknown): Promise<void> {
  const { world, timeline, program } = last
  const session = new Session({ program, world, timeline, number: last.number + 1, disturbance: {} })
  const again = await attempt(session, runnerOf(session, storeOf(session, store, new Set())))
  const isSame = again.type === 'outcome' && again.outcome.status === 'completed' && JSON.stringify(again.outcome.result) === JSON.stringify(result)
  if (!isSame) world.violate('ended-again', `the finished run gives ${JSON.stringify(again)}`)
  if (session.live.size > 0) world.violate('ended-again', `the finished run calls ${[...session.live].join(', ')}`)
}

/** Lets time pass until a promise settles. */
async function passWhile(timeline: Timeline, work: Promise<void>): Promise<void> {
  let over = false
  const done = work.finally(() => { over = true })
  await timeline.drive(() => over, timeline.now() + MAX_ATTEMPT_MS, MAX_TIMERS)
  await done
}
