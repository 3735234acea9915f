/** One case: made of a seed and its number, then judged. */
import { VALUES } from '../../src/journal/fixtures/every-entry.ts'
import { encode } from '../../src/journal/codec.ts'
import { writeMessage, type Message } from '../../src/journal/message.ts'
import { change, textOf } from './data.ts'
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

const ENCODED: readonly unknown[] = [...Object.values(VALUES), VALUES].map((value) => JSON.parse(JSON.stringify(encode(value))))

export function caseOf(seed: number, k: number): Case {
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

/** @throws Violation. */
export async function judge(each: Case): Promise<Verdict> {
  switch (each.about) {
    case 'rows': return judgeRows(JOURNALS[each.journal]!, each.rows)
    case 'entry': return judgeForged(JOURNALS[each.journal]!, each.seq, each.entry)
    case 'message': return judgeMessage(JOURNALS[each.journal]!, each.body)
    case 'value': return judgeValue(JSON.parse(textOf(each.encoded)))
  }
}
