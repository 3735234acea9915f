import { describe, expect, it } from 'vitest'
import type { Placed } from './chain.ts'
import type { Entry } from './entry.ts'
import { EVERY_MESSAGE, everyEntry } from './fixtures/every-entry.ts'
import { Redaction } from './redact.ts'
import { entryFault, messageFault } from './schema.ts'
import { Secrets, unsealed } from './secrets.ts'

const KEY = 'sk_live_4eC39HqLyjWD'
const secrets = Secrets.of({ KEY })!

/** Texts by which something is known, by the name of their field: none of them is what somebody said. Where they may hold a secret, it has its name in them before they are written. */
const KNOWN_BY = new Set([
  'runId', 'agent', 'version', 'threadId', 'step', 'id', 'ids', 'branch', 'name', 'key', 'tool', 'callId', 'fingerprint', 'idempotencyKey', 'config', 'digest', 'parts', 'changed',
  'base', 'added', 'link', 'effects', 'passed', 'cleanUp', 'first', 'unrecorded', 'code', 'fault', 'copy',
])

type Place = readonly [path: readonly string[], record: object]

/** Each place of a record at which any text may stand, outside of encoded values, with the record that has the secret there. */
function* openTexts(record: object, isWhole: (changed: object) => boolean): Generator<Place> {
  for (const [path, put] of texts(record)) if (isWhole(put(`by ${KEY}`) as object)) yield [path, put(`by ${KEY}`) as object]
}

function* texts(node: unknown): Generator<[path: readonly string[], put: (text: string) => unknown]> {
  if (typeof node === 'string') yield [[], (text) => text]
  if (typeof node !== 'object' || node === null || 'json' in node || 'devalue' in node) return
  for (const [key, item] of Object.entries(node)) {
    for (const [path, put] of texts(item)) yield [[key, ...path], (text) => (Array.isArray(node) ? node.with(Number(key), put(text)) : { ...node, [key]: put(text) })]
  }
}

const written = (record: object): object => JSON.parse(JSON.stringify(record)) as object
const places: readonly (Place & { readonly length: 2 })[] = [
  ...everyEntry('r').flatMap((entry) => [...openTexts(written(entry), (changed) => entryFault(changed) === undefined)]),
  ...EVERY_MESSAGE.flatMap((message) => [...openTexts(written(message), (changed) => messageFault(changed) === undefined)]),
]
const isSaid = ([path]: Place): boolean => path.every((key) => !KNOWN_BY.has(key))

describe('a text of a record that is no name of anything', () => {
  const said = places.filter(isSaid)

  it('is what somebody or their code said: by whom, why, and messages', () => {
    expect([...new Set(said.map(([path]) => path.at(-1)))].sort()).toEqual(['by', 'message', 'reason'])
    expect(places.length).toBeGreaterThan(said.length)
  })

  it('is stored with the names of secrets in it, and whole again when it is read', () => {
    for (const [, record] of said) {
      const body = secrets.seal(record)
      expect(body).toContain('by {{secret:KEY}}')
      expect(body).not.toContain(KEY)
      expect(unsealed('r', written(JSON.parse(body) as object), secrets)).toEqual(record)
    }
  })

  it('is shown with the names of secrets in it, and as rules mask it: by what it is, by the name of its field and by the way to it', () => {
    const shown = (record: object, rules: readonly (string | RegExp)[]): string => {
      const redaction = Redaction.of(rules, secrets)!
      return JSON.stringify([redaction.event(record), redaction.entries([{ seq: 1, entry: record as Entry } satisfies Placed])])
    }
    for (const [path, record] of said) {
      expect(shown(record, [])).toMatch(/by \{\{secret:KEY\}\}.*by \{\{secret:KEY\}\}/)
      for (const rule of [/by \S+/, path.at(-1)!, path.join('.'), path.map((key) => (/^\d+$/.test(key) ? '*' : key)).join('.')]) expect(shown(record, [rule])).not.toContain('by {{secret')
    }
  })
})

it('the words of the format stay, also where one is a secret, or its field is to be masked', () => {
  const words = Secrets.of({ A: 'divergence', B: 'reconcile', C: 'late-result', D: 'approved', E: 'live-result' })!
  for (const entry of everyEntry('r')) {
    if (entry.type !== 'superseded' && entry.type !== 'settled') continue
    expect(JSON.parse(words.seal(entry))).toMatchObject({ type: entry.type, by: entry.by })
    expect(Redaction.of(['by'], words)!.entries([{ seq: 1, entry }])).toMatchObject([{ entry: { by: entry.by } }])
  }
})

it('who answered is masked in the event that tells it', () => {
  const event = { type: 'approval-decided', runId: 'r', step: '0', kind: 'tool', name: 'refund', decision: 'approved', by: `ada with ${KEY}` }
  expect(Redaction.of([], secrets)!.event(event)).toEqual({ ...event, by: 'ada with {{secret:KEY}}' })
  expect(Redaction.of(['by'], secrets)!.event(event)).toEqual({ ...event, by: '[redacted]' })
  expect(Redaction.of(['by'], secrets)!.event({ type: 'doubt-settled', by: 'reconcile' })).toEqual({ type: 'doubt-settled', by: 'reconcile' })
})
