/** The cases of a number: made of a seed and of it, then judged. */
import { VALUES } from '../../src/journal/fixtures/every-entry.ts'
import { encode } from '../../src/journal/codec.ts'
import { writeMessage, type Message } from '../../src/journal/message.ts'
import { change, textOf } from './data.ts'
import { LEFT } from './desk.ts'
import { judgeDriven, type Forgery } from './drive.ts'
import { forge } from './forge.ts'
import { judgeForged, judgeMessage, judgeRows, judgeValue } from './judge.ts'
import { JOURNALS } from './journals.ts'
import { pickOf } from './pick.ts'
import { damageRows } from './rows.ts'
import type { Verdict } from './violation.ts'

/** What a case is about, and all that is needed to judge it again: these are what the corpus keeps. */
export type Case =
  | { readonly about: 'rows'; readonly what: string; readonly journal: number; readonly rows: readonly { seq: number; body: string; sum: string }[] }
  | { readonly about: 'entry'; readonly journal: number; readonly seq: number; readonly entry: unknown }
  | { readonly about: 'message'; readonly journal: number; readonly body: string }
  | { readonly about: 'value'; readonly encoded: unknown }
  | ({ readonly about: 'driven' } & Forgery)

const ENCODED: readonly unknown[] = [...Object.values(VALUES), VALUES].map((value) => JSON.parse(JSON.stringify(encode(value))))

function caseOf(seed: number, k: number): Case {
  const pick = pickOf(seed, k)
  // The one with every type of entry is long.
  const journal = pick.chance(0.85) ? 0 : 1
  const { journal: rows, inbox } = JOURNALS[journal]!
  const changed = (value: unknown): unknown => {
    let data = change(value, pick)
    while (pick.chance(0.3)) data = change(data, pick)
    return data
  }
  const about = pick.below(100)
  if (about < 45) return { about: 'rows', journal, ...damageRows(rows, JOURNALS[1 - journal]!.journal, pick) }
  if (about < 70) {
    const { seq, body } = pick.of(rows)
    return { about: 'entry', journal, seq, entry: changed(JSON.parse(body)) }
  }
  if (about < 75) {
    const { body } = pick.of(inbox.length > 0 ? inbox : JOURNALS[1]!.inbox)
    if (pick.chance(0.4)) return { about: 'message', journal, body: pick.chance(0.5) ? body.slice(0, pick.below(body.length)) : textOf(changed(JSON.parse(body))) }
    const { sum: _, ...message } = JSON.parse(body) as Record<string, unknown>
    const forged = changed(message)
    const isObject = typeof forged === 'object' && forged !== null && Object.keys(forged).length > 0
    return { about: 'message', journal, body: isObject ? writeMessage(JOURNALS[journal]!.row.runId, forged as Message) : textOf(forged) }
  }
  return { about: 'value', encoded: changed(pick.of(ENCODED)) }
}

/** A forged journal to drive a run on. */
function drivenOf(seed: number, k: number): Case {
  const pick = pickOf(seed, k)
  const journal = pick.below(LEFT.length)
  const { bodies, inbox } = LEFT[journal]!
  return {
    about: 'driven',
    ...forge(bodies, LEFT[(journal + 1) % LEFT.length]!.bodies, pick),
    inbox,
    attempts: bodies.filter((body) => body.startsWith('{"type":"attempt-started"')).length,
    released: pick.chance(0.3),
    ...(pick.chance(0.2) && { words: 'Another one.' }),
  }
}

/** Driving takes longer than reading: each case of this many is about a run that is driven, too. */
const DRIVEN_EVERY = 10

/** What is judged under this number. */
export const casesOf = (seed: number, k: number): Case[] => [caseOf(seed, k), ...(k % DRIVEN_EVERY === 0 ? [drivenOf(seed, k)] : [])]

/** @throws Violation. */
export async function judge(each: Case): Promise<Verdict> {
  switch (each.about) {
    case 'rows': return judgeRows(JOURNALS[each.journal]!, each.rows)
    case 'entry': return judgeForged(JOURNALS[each.journal]!, each.seq, each.entry)
    case 'message': return judgeMessage(JOURNALS[each.journal]!, each.body)
    case 'value': return judgeValue(JSON.parse(textOf(each.encoded)))
    case 'driven': return judgeDriven(each)
  }
}
