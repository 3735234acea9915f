/** Named secrets of what is said to a run, and stored, where no runner is at hand: by the names that the run has. */
import { HoldfastError } from '../errors.ts'
import { encode } from '../journal/codec.ts'
import { isDeeper, MAX_DEPTH } from '../journal/json.ts'
import { MIN_SECRET_LENGTH, namesIn, Secrets } from '../journal/secrets.ts'
import { usage } from './cli-error.ts'

/** By option, such as `--result`; undefined: not given. */
export type Said = Readonly<Record<string, unknown>>

/**
 * The secrets to store it with; undefined: there is nothing to hide in it.
 *
 * @param records What the run has stored: its names are known by that.
 * @param given `HOLDFAST_SECRETS`: JSON of values by name. What is wrong with it is told without showing any.
 * @throws HoldfastError `SECRET_MISSING` where one would be stored in the clear, or under a name that the run does not know.
 */
export async function secretsFor(runId: string, records: () => Promise<readonly object[]>, said: Said, given: string | undefined): Promise<Secrets | undefined> {
  const options = Object.keys(said).filter((option) => mayHold(said[option]))
  if (options.length === 0) return undefined
  const held = [...new Set((await records()).flatMap(namesIn))]
  const where = options.join(', ')
  if (!given) {
    if (held.length === 0) return undefined
    throw new HoldfastError('SECRET_MISSING', `run "${runId}" has named secrets (${held.join(', ')}): one of them in ${where} would be stored in the clear`, {
      runId, advice: `Give --module FILE, whose runner knows them, in place of --store; or their values as HOLDFAST_SECRETS='{"NAME":"value"}', {} where none is in ${where}`,
    })
  }
  const secrets = givenSecrets(given)
  if (!secrets || held.length === 0) return secrets
  const missing = held.filter((name) => secrets.value(name) === undefined)
  if (missing.length > 0) {
    throw new HoldfastError('SECRET_MISSING', `HOLDFAST_SECRETS does not give ${missing.join(', ')}, which run "${runId}" holds: in ${where} it would be stored in the clear`, {
      runId, advice: `Give the values under the names that its runner has; {} where none is in ${where}`,
    })
  }
  for (const option of options) {
    const sealed = JSON.parse(secrets.seal({ value: encode(said[option], { path: option }) })) as object
    const unknown = namesIn(sealed).filter((name) => !held.includes(name))
    if (unknown.length === 0) continue
    throw new HoldfastError('SECRET_MISSING', `${option} holds ${unknown.join(', ')} of HOLDFAST_SECRETS, and run "${runId}" has no secret of that name yet: its runner may not know it, and could not go on`, {
      runId, advice: 'Give --module FILE, whose runner knows its names, in place of --store',
    })
  }
  return secrets
}

/** A text that is shorter than any secret holds none, nor does a number. What is nested too deep is refused later. */
const mayHold = (value: unknown): boolean => isDeeper(value, MAX_DEPTH) || hasLongText(value)

function hasLongText(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= MIN_SECRET_LENGTH
  return typeof value === 'object' && value !== null && Object.entries(value).some(([key, item]) => hasLongText(key) || hasLongText(item))
}

/** @throws HoldfastError `INVALID_OPTIONS`, and the usage of the variable, which never show a value. */
export function givenSecrets(given: string | undefined): Secrets | undefined {
  if (!given) return undefined
  let values: unknown
  try {
    values = JSON.parse(given)
  } catch {
    throw usage('HOLDFAST_SECRETS is not JSON', `It holds values by name: '{"NAME":"value"}'`)
  }
  return Secrets.of(values)
}
