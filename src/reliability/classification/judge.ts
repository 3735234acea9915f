/** What one layer says: the provider's word, then the SDK's name, the HTTP status, a system code, and last the text. */
import { isCategory } from './category.ts'
import type { Category } from './category.ts'
import { byDatabase, byGrpc, byNumber, bySmtp, bySystemCode } from './codes.ts'
import type { CodeVerdict } from './codes.ts'
import type { Facts } from './facts.ts'
import { isErrorLike, namesOf, read } from './layers.ts'
import { decidingName, isConnectionName, statusName } from './names.ts'
import { byProcess } from './process.ts'
import { genericCode, matchCode, providerCode, SERVER_WORDS, stopReason } from './providers.ts'
import { refine } from './refine.ts'
import { byStatus } from './status.ts'
import { byText } from './text.ts'

export interface Verdict {
  readonly category: Category
  readonly rule: string
  readonly retryable?: boolean
  /** Stands only where nothing deeper says more. */
  readonly weak?: true
}

type Judge = (facts: Facts, value: unknown) => Verdict | undefined

/** The order of README's rule 3: the first that says something decides. */
const JUDGES: readonly Judge[] = [declared, providerWord, abortName, endedProcess, sdkName, status, statusWord, systemCode, text]

/** What a layer says; undefined when it says nothing. */
export function judge(value: unknown, facts: Facts): Verdict | undefined {
  for (const each of JUDGES) {
    const verdict = each(facts, value)
    if (verdict !== undefined) return verdict
  }
  return undefined
}

/** An error that keeps what a classifier said about it: our own, after it went through a journal or a worker. */
function declared({ objects: [own] }: Facts): Verdict | undefined {
  const category = read(own, 'category')
  const retryable = read(own, 'retryable')
  if (!isCategory(category) || category === 'unknown' || typeof retryable !== 'boolean') return undefined
  return { category, rule: 'declared', retryable }
}

function providerWord(facts: Facts): Verdict | undefined {
  const stop = matchCode(facts.stops, stopReason)
  if (stop !== undefined) return { category: stop.category, rule: `stop:${stop.code}` }
  const match = matchCode(facts.codes, providerCode)
  return match && refined({ category: match.category, rule: `provider:${match.code}` }, facts, ['rate_limit'])
}

/** `AbortError` is what runtimes throw for everything that a signal ended; its reason says whether a timer did it. */
function abortName({ names, texts }: Facts, value: unknown): Verdict | undefined {
  if (!names.includes('AbortError')) return undefined
  if (read(value, 'originalError') !== undefined) return undefined // p-retry's: it means "do not retry", and carries what happened
  // Chromium up to 123 said AbortError for its own timer, too.
  const timedOut = /^[^\n]{0,80}(?:due to (?:a )?timeout|timed out)/i.test(texts[0] ?? '') || [read(value, 'cause'), read(value, 'reason')].some((inner) =>
    namesOf(inner).some((name) => decidingName(name) === 'timeout') || bySystemCode(String(read(inner, 'code')), inner)?.category === 'timeout')
  return { category: timedOut ? 'timeout' : 'cancelled', rule: timedOut ? 'name:AbortError(TimeoutError)' : 'name:AbortError' }
}

function endedProcess(_facts: Facts, value: unknown): Verdict | undefined {
  return byProcess(value)
}

function sdkName({ names, codes }: Facts): Verdict | undefined {
  for (const name of [...names, ...codes]) {
    const category = decidingName(name)
    if (category !== undefined) return { category, rule: `name:${name}` }
  }
  return undefined
}

function status(facts: Facts): Verdict | undefined {
  const [first] = facts.statuses
  if (first === undefined) return undefined
  const word = first === 400 ? facts.codes.find((code) => SERVER_WORDS.has(code)) : undefined
  if (word !== undefined) return refined({ category: 'server', rule: `provider:${word}` }, facts)
  return refined({ ...byStatus(first), rule: `status:${first}` }, facts)
}

/** Words and names that only repeat the status, where it got lost. */
function statusWord(facts: Facts): Verdict | undefined {
  const match = matchCode(facts.codes, genericCode)
  if (match !== undefined) return refined({ category: match.category, rule: `provider:${match.code}` }, facts)
  for (const name of [...facts.names, ...facts.codes]) {
    const category = statusName(name)
    if (category !== undefined) return refined({ category, rule: `name:${name}` }, facts)
  }
  // The AWS SDK's, of an exception that its service does not document.
  return read(facts.objects[0], '$fault') === 'server' ? refined({ category: 'server', rule: 'fault:server' }, facts) : undefined
}

function systemCode(facts: Facts, value: unknown): Verdict | undefined {
  let verdict: CodeVerdict | undefined = bySmtp(value)
  for (const code of facts.codes) verdict ??= bySystemCode(code, value)
  for (const { code, of } of facts.numbers) verdict ??= byNumber(code, of)
  verdict ??= byDatabase(value)
  return verdict && refined(verdict, facts)
}

function text(facts: Facts, value: unknown): Verdict | undefined {
  // "fetch failed" and the like come with the name TypeError, which says nothing by itself.
  const names = isErrorLike(value) ? facts.names : []
  const readings = { grpc: byGrpc, errno: (code: string) => bySystemCode(code, undefined), name: (name: string) => decidingName(name) ?? statusName(name) }
  let weak: Verdict | undefined
  for (const each of facts.texts) {
    const verdict = byText(each, names, readings)
    if (verdict?.weak) weak ??= verdict
    else if (verdict !== undefined) return refined(verdict, facts)
  }
  const connection = [...facts.names, ...facts.codes].find(isConnectionName)
  return weak ?? (connection === undefined ? undefined : { category: 'network', rule: `name:${connection}`, weak: true })
}

/** The verdict, as the text makes it more exact. */
function refined(verdict: Verdict, facts: Facts, only?: readonly Category[]): Verdict {
  if (only !== undefined && !only.includes(verdict.category)) return verdict
  const more = refine(verdict.category, facts)
  return more === undefined ? verdict : { category: more.category, rule: `${verdict.rule}+text:${more.rule}` }
}
