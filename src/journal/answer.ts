/** What a model answered, as a record has it: of its form, what everybody who reads it relies on. */
import type { Entry } from './entry.ts'
import type { JsonValue } from './json.ts'

type Fields = Readonly<Record<string, JsonValue>>
const fieldsOf = (value: JsonValue | undefined): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined

/** What is wrong with the answer in the end of a model request; undefined: nothing, or it is no such entry. The value is one that its codec can read. */
export function answerFault(entry: Entry): string | undefined {
  if (entry.type !== 'step-ended' || entry.step.kind !== 'model' || entry.outcome.type !== 'value') return undefined
  const { value } = entry.outcome
  // Not decoded for this: what a part of devalue's form refers to is looked up.
  const flat = 'devalue' in value ? value.devalue : undefined
  const at = (reference: JsonValue | undefined): JsonValue | undefined =>
    flat === undefined ? reference : Array.isArray(flat) && typeof reference === 'number' ? (flat as readonly JsonValue[])[reference] : undefined
  const answer = fieldsOf('json' in value ? value.json : at(0))
  const as = at(answer?.['as'])
  const [name, parts] = as === 'parts' ? ['parts', at(answer?.['parts'])] : ['result.content', as === 'result' ? at(fieldsOf(at(answer?.['result']))?.['content']) : undefined]
  if (as !== 'parts' && as !== 'result') return 'outcome.value is no answer of a model'
  if (!Array.isArray(parts)) return `outcome.value.${name} is not a list`
  const wrong = (parts as readonly JsonValue[]).findIndex((part) => typeof at(fieldsOf(at(part))?.['type']) !== 'string')
  return wrong < 0 ? undefined : `outcome.value.${name}[${wrong}] is no part of an answer`
}
