/** Named secrets of a result that is stored where no runner is at hand: by the names that the run has. */
import { HoldfastError } from '../errors.ts'
import { encode } from '../journal/codec.ts'
import { namesIn, Secrets } from '../journal/secrets.ts'
import { usage } from './cli-error.ts'

/**
 * The secrets to store a result with.
 *
 * @param records What the run has stored: its names are known by that.
 * @param given `HOLDFAST_SECRETS`: JSON of values by name. What is wrong with it is told without showing any.
 * @throws HoldfastError `SECRET_MISSING` where one would be stored in the clear, or under a name that the run does not know.
 */
export function secretsFor(runId: string, records: readonly object[], result: unknown, given: string | undefined): Secrets | undefined {
  const held = [...new Set(records.flatMap(namesIn))]
  if (!given) {
    if (held.length === 0) return undefined
    throw new HoldfastError('SECRET_MISSING', `run "${runId}" has named secrets (${held.join(', ')}): one of them in the result would be stored in the clear`, {
      runId, advice: `Give --module FILE, whose runner knows them, in place of --store; or their values as HOLDFAST_SECRETS='{"NAME":"value"}', {} where none is in the result`,
    })
  }
  const secrets = givenSecrets(given)
  if (!secrets || held.length === 0) return secrets
  const missing = held.filter((name) => secrets.value(name) === undefined)
  if (missing.length > 0) {
    throw new HoldfastError('SECRET_MISSING', `HOLDFAST_SECRETS does not give ${missing.join(', ')}, which run "${runId}" holds: in the result it would be stored in the clear`, {
      runId, advice: 'Give the values under the names that its runner has; {} where none is in the result',
    })
  }
  const unknown = namesIn(JSON.parse(secrets.seal({ value: encode(result, { path: 'result' }) })) as object).filter((name) => !held.includes(name))
  if (unknown.length === 0) return secrets
  throw new HoldfastError('SECRET_MISSING', `the result holds ${unknown.join(', ')} of HOLDFAST_SECRETS, and run "${runId}" has no secret of that name yet: its runner may not know it, and could not go on`, {
    runId, advice: 'Give --module FILE, whose runner knows its names, in place of --store',
  })
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
