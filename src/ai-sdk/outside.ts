/** A durable model or tool that is called outside every run. */
import { HoldfastError } from '../errors.ts'

export interface OutsidePolicy {
  /**
   * What happens when it is called outside every run: `plain` (default) makes it behave as the plain object, with a process warning
   * (`OUTSIDE_RUN`) while this process drives a run, because then the call was probably meant to belong to it; `refuse` throws `OUTSIDE_RUN`.
   */
  readonly outside?: 'plain' | 'refuse'
}

const warned = new Set<string>()

export function outside(label: string, policy: OutsidePolicy, isDriving: boolean): void {
  const message = `${label} was called outside every run`
  if (policy.outside === 'refuse') {
    throw new HoldfastError('OUTSIDE_RUN', message, { advice: 'Call it from the handler of an agent, or from what the handler awaits' })
  }
  if (!isDriving || warned.has(label)) return
  warned.add(label)
  process.emitWarning(`${message} while this process drives a run: it is neither recorded nor retried`, { code: 'OUTSIDE_RUN', type: 'HoldfastWarning' })
}
