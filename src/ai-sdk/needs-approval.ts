/** `needsApproval` of the AI SDK's tools, as a function: it says on replay what it said. */
import { fingerprint } from '../journal/fingerprint.ts'
import { oneTry } from '../reliability/index.ts'
import type { Locate } from './model.ts'

export type NeedsApproval = (input: unknown, options: { readonly toolCallId: string }) => PromiseLike<boolean> | boolean

/**
 * The loop asks anew whenever its run is driven again, and the answer may be another one by then, because of the very effect that was made. Yes is a
 * recorded read. A call that the journal has without one was made upon a no: held back now, what was done would be forgotten, and asked for again.
 */
export const approvalAsAsked = (tool: string, self: object, needed: NeedsApproval, locate: Locate): NeedsApproval => async (input, options) => {
  const ask = async (): Promise<boolean> => (await needed.call(self, input, options)) || false
  const at = locate()
  if (!at) return ask()
  const { machine, attempt: { history, policies, secrets } } = at.drive
  const hide = (text: string): string => secrets?.hide(text) ?? text
  const [branch, callId, name] = [machine.branchAt(at.branch), hide(options.toolCallId), `needsApproval of ${tool}`]
  const print = fingerprint(input, secrets) ?? branch?.askedWith(callId, hide(tool)) ?? null
  const isYes = branch?.nextKeyed(hide(name), callId, history)?.fingerprint === print || (!branch?.isRecorded(callId, hide(tool), print, history) && (await ask()))
  if (!isYes) return false
  await at.drive.perform({
    claim: { branch: at.branch, kind: 'read', name, place: { type: 'key', key: options.toolCallId }, fingerprint: print, hasInput: true },
    label: `read "${name}"`,
    hasInside: false,
    retry: oneTry(policies.retry),
    work: () => true,
  })
  return true
}
