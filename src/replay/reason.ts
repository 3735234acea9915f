/** Why a step is not what the journal has in its place, in words (R5). */
import type { Claim, ModelClaim } from './claim.ts'
import type { StepRecord } from './history.ts'

type Label = readonly [label: string, hash: string]

/** `recordOf` finds the record that an earlier prompt is described by. */
export function divergenceReason(claim: Claim, record: StepRecord | undefined, recordOf: (id: string) => StepRecord | undefined): string {
  if (!record) return `the journal has what another kind of step held here, now ${claim.kind} "${claim.name}" is asked for`
  if (record.ref.kind !== claim.kind || record.ref.name !== claim.name) {
    return `the journal has ${record.ref.kind} "${record.ref.name}" here, now ${claim.kind} "${claim.name}" is asked for`
  }
  if (!claim.model) return `${claim.kind} "${claim.name}" is asked with another input than in the journal`
  return promptReason(claim.model, record, recordOf)
}

function promptReason(model: ModelClaim, record: StepRecord, recordOf: (id: string) => StepRecord | undefined): string {
  const before = messagesOf(record, recordOf)
  const now = model.messages()
  if (!before) return 'the conversation differs from the journal'
  for (let i = 0; i < Math.max(before.length, now.length); i++) {
    const [was, is] = [before[i], now[i]]
    if (was?.[1] === is?.[1]) continue
    if (!was) return `the conversation has ${now.length} messages instead of ${before.length}: message ${i + 1} (${is![0]}) is new`
    if (!is) return `the conversation has ${now.length} messages instead of ${before.length}: message ${i + 1} (${was[0]}) is missing`
    return was[0] === is[0]
      ? `message ${i + 1} (${is[0]}) differs from the journal`
      : `message ${i + 1} is ${is[0]}, in the journal it is ${was[0]}`
  }
  return 'another configuration was used for the same conversation'
}

/** All messages of a recorded prompt: each record keeps only what is new in it. Undefined: its records do not say, as where they go on with each other in a circle. */
function messagesOf(record: StepRecord, recordOf: (id: string) => StepRecord | undefined): Label[] | undefined {
  const chain = new Set<StepRecord>()
  for (let at: StepRecord | undefined = record; at; at = at.prompt?.base === undefined ? undefined : recordOf(at.prompt.base)) {
    if (chain.has(at)) return undefined
    chain.add(at)
  }
  const messages: Label[] = []
  for (const { prompt } of [...chain].reverse()) {
    if (!prompt || prompt.keep > messages.length) return undefined
    messages.length = prompt.keep
    for (const label of prompt.added) messages.push(label)
  }
  return messages
}

const SETTINGS: ReadonlySet<string> = new Set(['maxOutputTokens', 'temperature', 'stopSequences', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'seed', 'reasoning'])

/**
 * Names of the parts of a configuration that differ. Earlier builds recorded all settings of a request as one part, `settings`: where nothing else
 * differs from theirs, it is that.
 */
export function changedParts(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): string[] {
  const { settings, ...others } = before
  if (settings !== undefined && now['settings'] === undefined) {
    const changed = changedParts(others, now).filter((name) => name in others || !SETTINGS.has(name))
    return changed.length > 0 ? changed : ['settings']
  }
  const names = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...names].filter((name) => before[name] !== now[name]).sort()
}
