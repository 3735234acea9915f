import { expect, it } from 'vitest'
import type { PromptRecord } from '../journal/entry.ts'
import type { Claim } from './claim.ts'
import { History, type StepRecord } from './history.ts'
import { divergenceReason } from './reason.ts'

/** Requests of one branch, by what each has seen; why the last one is not that of another conversation. */
function reasonOf(...prompts: readonly PromptRecord[]): string {
  const history = new History()
  prompts.forEach((prompt, slot) => history.apply(
    { type: 'step-ended', at: 0, step: { id: `${slot}`, branch: '', kind: 'model', name: 'm', slot }, fingerprint: 'f', prompt, outcome: { type: 'value', value: { json: 1 } }, tries: 1, ms: 0 },
    slot + 1,
  ))
  const recordOf = (id: string): StepRecord | undefined => history.records.get(id)
  const model = { messages: () => [['user', 'h1'], ['user', 'h3']] }
  return divergenceReason({ kind: 'model', name: 'm', model } as unknown as Claim, recordOf(`${prompts.length - 1}`), recordOf)
}

it('names the message that differs, of a request that goes on with an earlier one', () => {
  expect(reasonOf({ length: 1, keep: 0, added: [['user', 'h1']] }, { length: 2, keep: 1, base: '0', added: [['user', 'h2']] })).toBe('message 2 (user) differs from the journal')
})

it('names none where requests of a journal go on with each other in a circle, and comes to an end', () => {
  expect(reasonOf({ length: 2, keep: 1, base: '0', added: [['user', 'h2']] })).toBe('the conversation differs from the journal')
  expect(reasonOf({ length: 1, keep: 0, base: '1', added: [['user', 'h1']] }, { length: 2, keep: 1, base: '0', added: [['user', 'h2']] })).toBe('the conversation differs from the journal')
})
