/** Tells what the agent's processes do, as it happens. */
import { describeSummary, type StampedEvent } from '../src/index.ts'
import type { WorkerMessage } from './job.ts'
import { Replay } from './replay.ts'
import type { Terminal } from './terminal.ts'
import { effects } from './ticket.ts'

type Told<TYPE extends StampedEvent['type']> = StampedEvent & { readonly type: TYPE }

const hasEffect = (name: string): boolean => effects.some((effect) => effect.name === name)

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export class Narrator {
  readonly #terminal: Terminal
  #replay = new Replay()
  /** The request whose text is being shown. */
  #shown = 0
  #asks = 0

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  hear(message: WorkerMessage): void {
    const terminal = this.#terminal
    switch (message.type) {
      case 'handler-called':
        this.#shown = 0
        this.#replay = new Replay(message.clockMs)
        break
      case 'text':
        if (this.#replay.isReplayed(message.request)) break
        this.#open(message.request)
        terminal.add(message.delta)
        break
      case 'asks':
        if (this.#replay.isReplayed(message.request)) break
        this.#open(message.request)
        terminal.add(`${this.#asks++ === 0 ? terminal.style('quiet', ' -> ') : ', '}${terminal.style('strong', message.toolName)}`)
        break
      case 'waited':
        terminal.line('wait', message.for === 'running' ? 'the lease of the process before is not over yet' : 'the run was not due yet', 'wait')
        break
      case 'event':
        this.#event(message.event, message.clockMs)
        break
    }
  }

  #event(event: StampedEvent, clockMs: number): void {
    const terminal = this.#terminal
    if (event.type === 'step-replayed') return this.#replay.replayed(event, clockMs)
    if (event.type === 'step-started' && event.kind === 'model') this.#replay.live()
    this.#endReplay()
    switch (event.type) {
      case 'run-started':
        return terminal.line('run', `"${event.runId}" starts: attempt 1`)
      case 'run-resumed': {
        const former = { none: 'nothing was recorded', released: 'the attempt before has ended', dead: 'the process before is known to be dead', expired: 'the lease before is over' }
        return terminal.line('run', `"${event.runId}" is resumed: attempt ${event.attempt}, ${former[event.former]}`)
      }
      case 'step-started':
        if (event.kind === 'tool' && hasEffect(event.name)) terminal.line('tool', `${terminal.style('strong', event.name)} is called (that it starts is recorded)`)
        return
      case 'step-finished':
        return this.#finished(event)
      case 'retry-wait':
        return terminal.line('retry', `${event.category}, "${event.message}": waits ${seconds(event.delayMs)}, then try ${event.try + 1}`, 'wait')
      case 'step-reset':
        return terminal.line('step-reset', `the stream broke in the middle (${event.message}): this text is void, the handler is driven again`, 'wait')
      case 'step-timeout':
        return terminal.line('timeout', `${event.name} hangs: given up after ${seconds(event.timeoutMs)}, the model is told so and decides`, 'wait')
      case 'step-in-doubt':
        return terminal.line('in doubt', `${event.name} was started, and nobody knows whether it took effect`, 'bad')
      case 'doubt-settled':
        return this.#settled(event)
      case 'replay-diverged':
        return terminal.line('diverged', `at step ${event.step}: ${event.reason}`, 'bad')
      case 'warning':
        return terminal.line('warning', `${event.code}: ${event.message}`, 'wait')
      case 'attempt-ended':
        return terminal.line('attempt', `${event.attempt} ends: ${describeSummary(event.summary)}`, 'quiet')
      case 'run-completed':
        return terminal.line('run', 'completed', 'good')
    }
  }

  #finished(event: Told<'step-finished'>): void {
    const terminal = this.#terminal
    if (event.kind === 'model') return
    if (event.tries === 0) return terminal.line('tool', `${terminal.style('strong', event.name)} is answered with what was found out, it is not called again`, 'good')
    if (event.ok) terminal.line('tool', `${terminal.style('strong', event.name)} done in ${event.ms} ms`)
  }

  #settled(event: Told<'doubt-settled'>): void {
    const terminal = this.#terminal
    const found = event.as === 'completed' ? 'it took effect, here is its receipt' : 'it did not take effect, so it may be called'
    if (event.by === 'reconcile') {
      terminal.line('reconcile', `the service is asked by the idempotency key of ${event.name}: ${found}`, 'good')
    } else terminal.line('settled', `${event.name}, by ${event.by}: ${event.as}`, 'good')
  }

  #open(request: number): void {
    const terminal = this.#terminal
    if (terminal.isOpen && this.#shown === request) return
    terminal.begin(`model ${request}`)
    if (this.#shown === request) terminal.add('... ')
    else this.#asks = 0
    this.#shown = request
  }

  #endReplay(): void {
    const said = this.#replay.end()
    if (said) this.#terminal.line('replay', said, 'good')
  }
}
