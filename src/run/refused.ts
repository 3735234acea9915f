/** What a drive does not even claim: nothing waits for it, or nothing could tell it apart. */
import type { Verdict } from '../replay/claim.ts'
import type { Context } from './current.ts'

type Refusal = Verdict & { readonly type: 'refuse' }

export const afterTheEnd = (label: string): Refusal => ({
  type: 'refuse', code: 'BRANCH_ENDED', message: `${label} was asked for after the handler had returned`, advice: 'Await what the handler starts before it returns',
})

const insideRequest = (label: string, step: string): Refusal => ({
  type: 'refuse', code: 'AMBIGUOUS_STEP', message: `${label} was asked for by the code of model request ${step}, which is one step: nothing tells what it asks for from the steps beside it`,
  advice: 'Put middleware that asks for steps around the durable model: wrapLanguageModel({ model: durable(model), middleware })',
})

const abandoned = (label: string, step: string): Refusal => ({
  type: 'refuse', code: 'BRANCH_ENDED', message: `${label} was asked for by the code of step ${step}, which is no longer waited for`, advice: 'Heed the signal of the step: currentStep().signal',
})

/** By where it is asked for. */
export const refusedIn = (label: string, { step, request }: Partial<Context> = {}): Refusal | undefined =>
  step?.signal.aborted ? abandoned(label, step.step) : request === undefined ? undefined : insideRequest(label, request)
