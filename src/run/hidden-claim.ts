/** What a step is known by, with the names of secrets in place of their values: ids stand in journals, events and commands as they are. */
import type { Secrets } from '../journal/secrets.ts'
import type { Claim, ClaimedEffect, ModelClaim, Place } from '../replay/claim.ts'

/** Fingerprints, and what a prompt and a configuration are told of, are made so already, by whoever makes them. */
export function hiddenClaim(claim: Claim, secrets: Secrets): Claim {
  const { place, content, model, effect, former } = claim
  const hide = (text: string): string => secrets.hide(text)
  return {
    ...claim,
    name: hide(claim.name),
    place: hiddenPlace(place, hide),
    ...(content !== undefined && { content: hide(content) }),
    ...(model && { model: hiddenModel(model, hide) }),
    ...(effect && { effect: hiddenEffect(effect, hide) }),
    ...(former && { former: hiddenEffect(former, hide) }),
  }
}

const hiddenEffect = (effect: ClaimedEffect, hide: (text: string) => string): ClaimedEffect => ({ ...effect, name: hide(effect.name), key: hide(effect.key) })

function hiddenModel(model: ModelClaim, hide: (text: string) => string): ModelClaim {
  const { results, tools, toolChoice } = model
  return { ...model, results: results.map(hide), tools: tools.map(hide), ...(typeof toolChoice === 'object' && { toolChoice: { tool: hide(toolChoice.tool) } }) }
}

function hiddenPlace(place: Place, hide: (text: string) => string): Place {
  switch (place.type) {
    case 'number': return place
    case 'key': return { ...place, key: hide(place.key) }
    case 'call': return { ...place, callId: hide(place.callId), ...(place.approvalId !== undefined && { approvalId: hide(place.approvalId) }) }
  }
}
