/** Which fault a try gets. */
import { hash } from '../core/hash.ts'
import { seededRandom } from '../core/random.ts'
import { HoldfastError } from '../errors.ts'
import { typicalFaults } from './faults.ts'
import type { Fault, FaultKind, FaultPlan, PlannedFault, RandomFaults } from './faults.ts'
import { checkedArray, checkedObject, checkInteger, invalid, isObject } from './invalid.ts'

/** The n-th time that a conversation is asked for one of its answers; all counted from 1. */
export interface Try {
  readonly conversation: string
  readonly turn: number
  readonly try: number
}

export interface RandomFaultsOptions {
  /** Any integer. Default: 1. */
  readonly seed?: number
  /** Share of the tries that fail, 0 to 1. Default: 0.2. */
  readonly rate?: number
  /** What to draw from, evenly: kinds (one of `typicalFaults`) or faults. Default: every kind but `hang`. */
  readonly kinds?: readonly (FaultKind | Fault)[]
  /** Only the first `tries` tries of an answer may fail. Default: 2. */
  readonly tries?: number
}

/**
 * An entry of a fault plan that draws faults at random, the same ones for the same seed.
 *
 * @example
 * startModelServer({ conversations, faults: [randomFaults({ seed: 7, rate: 0.3, kinds: ['status', 'reset'] })] })
 */
export function randomFaults(options: RandomFaultsOptions = {}): RandomFaults {
  checkedObject('randomFaults', options, ['seed', 'rate', 'kinds', 'tries'])
  const { seed = 1, rate = 0.2, tries = 2 } = options
  const kinds = options.kinds ?? (Object.keys(typicalFaults) as FaultKind[]).filter((kind) => kind !== 'hang')
  const of = checkedArray('randomFaults.kinds', kinds).flatMap((_, index): readonly Fault[] => {
    const kind = kinds[index]
    if (typeof kind !== 'string') return kind ? [kind] : []
    if (!Object.hasOwn(typicalFaults, kind)) throw invalid(`randomFaults.kinds[${index}]`, Object.keys(typicalFaults).join(', '), kind)
    return typicalFaults[kind]
  })
  const random = { seed, rate, of, tries }
  checkRandom('randomFaults', random)
  return random
}

/** The fault of a try by the plan: the first entry that fits decides. Pure. */
export function faultFor(plan: FaultPlan, at: Try): Fault | undefined {
  for (const entry of plan) {
    const fault = 'of' in entry ? drawn(entry, at) : planned(entry, at)
    if (fault) return fault
  }
  return undefined
}

function planned(entry: PlannedFault, at: Try): Fault | undefined {
  if (entry.conversation !== undefined && entry.conversation !== at.conversation) return undefined
  const tryFits = entry.try === 'every' || (entry.try ?? 1) === at.try
  return tryFits && entry.turn === at.turn ? entry.fault : undefined
}

function drawn(entry: RandomFaults, at: Try): Fault | undefined {
  if (at.try > entry.tries) return undefined
  const seed = hash(String(entry.seed), at.conversation, String(at.turn), String(at.try))
  const random = seededRandom(Number.parseInt(seed.slice(0, 8), 16))
  return random() < entry.rate ? entry.of[Math.floor(random() * entry.of.length)] : undefined
}

/**
 * Takes a plan out of unchecked data.
 *
 * @throws HoldfastError `INVALID_OPTIONS`, with the path of what is wrong.
 */
export function parseFaultPlan(value: unknown, path = 'faults'): FaultPlan {
  const entries = checkedArray(path, value)
  const seen = new Map<string, number>()
  for (const [index, entry] of entries.entries()) {
    const at = `${path}[${index}]`
    if (isObject(entry) && 'of' in entry) {
      checkRandom(at, entry)
      continue
    }
    const key = checkPlanned(at, entry)
    const before = seen.get(key)
    if (before !== undefined) throw new HoldfastError('INVALID_OPTIONS', `${at} has the try of ${path}[${before}]: one try has one fault`)
    seen.set(key, index)
  }
  return entries as FaultPlan
}

function checkRandom(path: string, value: unknown): void {
  const { seed, rate, of, tries } = checkedObject(path, value, ['seed', 'rate', 'of', 'tries'])
  if (!Number.isInteger(seed)) throw invalid(`${path}.seed`, 'an integer', seed)
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) throw invalid(`${path}.rate`, 'a number from 0 to 1', rate)
  if (!Number.isInteger(tries) || Number(tries) < 1) throw invalid(`${path}.tries`, 'an integer >= 1', tries)
  const faults = checkedArray(`${path}.of`, of)
  if (faults.length === 0) throw invalid(`${path}.of`, 'an array with at least one fault', of)
  for (const [index, fault] of faults.entries()) checkFault(`${path}.of[${index}]`, fault)
}

function checkPlanned(path: string, value: unknown): string {
  const entry = checkedObject(path, value, ['conversation', 'turn', 'try', 'fault'])
  if (entry['conversation'] !== undefined && typeof entry['conversation'] !== 'string') {
    throw invalid(`${path}.conversation`, 'a string', entry['conversation'])
  }
  if (entry['turn'] === undefined) throw invalid(`${path}.turn`, 'an integer >= 1', undefined)
  checkInteger(`${path}.turn`, entry['turn'], 1)
  if (entry['try'] !== 'every') checkInteger(`${path}.try`, entry['try'], 1)
  checkFault(`${path}.fault`, entry['fault'])
  return JSON.stringify([entry['conversation'] ?? null, entry['turn'], entry['try'] ?? 1])
}

const keysOf: Readonly<Record<FaultKind, readonly string[]>> = {
  status: ['status', 'headers', 'body'],
  delay: ['beforeMs', 'betweenMs'],
  hang: ['after'],
  reset: ['after'],
  cut: ['after'],
  'error-event': ['after', 'error'],
  'error-body': ['error'],
  garbage: ['after', 'text'],
}

function checkFault(path: string, value: unknown): void {
  const kind = checkedObject(path, value)['kind']
  if (typeof kind !== 'string' || !Object.hasOwn(keysOf, kind)) throw invalid(`${path}.kind`, Object.keys(keysOf).join(', '), kind)
  const fault = checkedObject(path, value, ['kind', ...keysOf[kind as FaultKind]])
  if (kind === 'status' && fault['status'] === undefined) throw invalid(`${path}.status`, 'an integer >= 200', undefined)
  checkInteger(`${path}.status`, fault['status'], 200)
  if (Number(fault['status'] ?? 0) > 599) throw invalid(`${path}.status`, 'at most 599', fault['status'])
  checkInteger(`${path}.beforeMs`, fault['beforeMs'], 0)
  checkInteger(`${path}.betweenMs`, fault['betweenMs'], 0)
  if (typeof fault['after'] === 'string') {
    if (!['content', 'finish'].includes(fault['after'])) throw invalid(`${path}.after`, "an integer >= 0, 'content' or 'finish'", fault['after'])
  } else {
    checkInteger(`${path}.after`, fault['after'], 0)
  }
  if (fault['text'] !== undefined && typeof fault['text'] !== 'string') throw invalid(`${path}.text`, 'a string', fault['text'])
  if (fault['headers'] === undefined) return
  for (const [name, header] of Object.entries(checkedObject(`${path}.headers`, fault['headers']))) {
    if (typeof header !== 'string') throw invalid(`${path}.headers.${name}`, 'a string', header)
  }
}
