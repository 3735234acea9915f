/** What a program could write in place of the journal that it has: entries that make sense by themselves, with others around them than they had. */
import { everyEntry } from '../../src/journal/fixtures/every-entry.ts'
import { change } from './data.ts'
import type { Pick } from './pick.ts'

type Fields = Readonly<Record<string, unknown>>
type Entries = readonly Fields[]

const plain = (entries: readonly unknown[]): Entries => JSON.parse(JSON.stringify(entries)) as Entries
const SAMPLES = plain(everyEntry('driven')).filter(({ type }) => type !== 'run-created')

/** By name, so that a report says what was done. */
const FORGERIES: Readonly<Record<string, (entries: Entries, pick: Pick, others: Entries) => Entries>> = {
  'entries swapped': (entries, pick) => {
    const [a, b] = [pick.of(entries), pick.of(entries)]
    return entries.map((entry) => (entry === a ? b : entry === b ? a : entry))
  },
  'entry dropped': (entries, pick) => entries.toSpliced(pick.below(entries.length), 1),
  'entry moved': (entries, pick) => {
    const from = pick.below(entries.length)
    return entries.toSpliced(from, 1).toSpliced(pick.below(entries.length), 0, entries[from]!)
  },
  'entry twice': (entries, pick) => entries.toSpliced(pick.below(entries.length + 1), 0, pick.of(entries)),
  'entry of another journal': (entries, pick, others) => entries.toSpliced(pick.below(entries.length + 1), 0, pick.of(others)),
  'entry of any kind': (entries, pick) => entries.toSpliced(pick.below(entries.length + 1), 0, about(pick.of(SAMPLES), entries, pick)),
  'end gone': (entries, pick) => entries.slice(0, pick.below(entries.length)),
  'field of another entry': (entries, pick) => at(entries, pick, (entry) => {
    const other = pick.of(entries.filter(({ type }) => type === entry['type']))
    const field = pick.of(Object.keys(other))
    return { ...entry, [field]: other[field] }
  }),
  'field gone': (entries, pick) => at(entries, pick, (entry) => {
    const { [pick.of(Object.keys(entry))]: _, ...rest } = entry
    return rest
  }),
  'another outcome': (entries, pick) => at(entries, pick, (entry) => ({ ...entry, outcome: pick.of([...entries, ...SAMPLES].filter(({ outcome }) => outcome !== undefined))['outcome'] }), ['step-ended']),
  'another id': (entries, pick) => at(entries, pick, (entry) => about(entry, entries, pick), REFERRING),
  'another step': (entries, pick) => at(entries, pick, (entry) => ({ ...entry, step: anyStep(entries, pick) }), ['step-started', 'step-ended', 'approval-asked']),
  // What is no entry at all is found by reading alone.
  'any change': (entries, pick) => at(entries, pick, (entry) => {
    const changed = change(entry, pick)
    return isObject(changed) ? changed : entry
  }),
}
const REFERRING = ['step-started', 'step-ended', 'superseded', 'settled', 'decision', 'approval-asked', 'approval-decided', 'consumed', 'config-changed', 'retry-after']

export interface Forged {
  readonly what: string
  readonly bodies: readonly string[]
}

/** The first entry, without which nothing is read, stays; what an attempt that was killed has not written is mostly not there. */
export function forge(bodies: readonly string[], others: readonly string[], pick: Pick): Forged {
  const parse = (texts: readonly string[]): Entries => texts.map((body) => JSON.parse(body) as Fields)
  const [first, ...rest] = parse(bodies)
  let entries: Entries = pick.chance(0.8) ? rest.slice(0, 3 + pick.below(rest.length - 3)) : rest
  const names: string[] = []
  for (let times = pick.chance(0.6) ? 1 : 2 + pick.below(3); times > 0 && entries.length > 0; times--) {
    const name = pick.of(Object.keys(FORGERIES))
    names.push(name)
    entries = FORGERIES[name]!(entries, pick, parse(others).slice(1))
  }
  return { what: names.join(', '), bodies: [first, ...entries].map((entry) => JSON.stringify(entry) ?? 'null') }
}

/** Says of another step of the journal what it said of its own, wholly or in part. */
function about(entry: Fields, entries: Entries, pick: Pick): Fields {
  const step = anyStep(entries, pick)
  const id = step['id'] as string
  return {
    ...entry,
    ...(typeof entry['step'] === 'string' && { step: id }),
    ...(isObject(entry['step']) && { step: pick.chance(0.5) ? step : { ...entry['step'], [pick.of(['id', 'branch', 'name', 'slot'])]: pick.of(Object.values(step)) } }),
    ...(Array.isArray(entry['ids']) && { ids: [pick.of([id, step['branch']])] }),
    ...(Array.isArray(entry['effects']) && pick.chance(0.5) && { effects: [id] }),
    ...(isObject(entry['effect']) && { effect: { name: step['name'], key: '' } }),
  }
}

/** One of the steps that entries are of; the first of the run, too. */
const anyStep = (entries: Entries, pick: Pick): Fields =>
  pick.of([...entries.map(({ step }) => step).filter(isObject), { id: '0', branch: '', kind: 'model', name: 'test/model', slot: 0 }])

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** One entry changed, one of these types where there are any. */
function at(entries: Entries, pick: Pick, changed: (entry: Fields) => Fields, types?: readonly string[]): Entries {
  const among = types ? entries.filter((entry) => types.includes(entry['type'] as string)) : entries
  if (among.length === 0) return entries
  const chosen = pick.of(among)
  return entries.map((entry) => (entry === chosen ? changed(entry) : entry))
}
