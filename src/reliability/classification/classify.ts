/** Says what kind of error something is: structure first, then anchored text, and `unknown` without evidence. */
import { systemClock } from '../../core/clock.ts'
import { HoldfastError } from '../../errors.ts'
import { callable, checkObject, listOf, text } from '../check.ts'
import { thrownBy, wrongAnswer } from './answer.ts'
import { isTransient } from './category.ts'
import type { Category, Classification, Classifier, ErrorContext, Evidence } from './category.ts'
import { factsOf } from './facts.ts'
import type { Facts } from './facts.ts'
import { hintOf } from './hints.ts'
import { layersOf, membersOf, read } from './layers.ts'
import type { Layer } from './layers.ts'
import { isFinalName } from './names.ts'
import { judge } from './judge.ts'
import type { Verdict } from './judge.ts'

/** What a user knows about errors that Holdfast does not. */
export interface ClassificationRule {
  /** For the evidence. */
  readonly name: string
  /**
   * Looks at the thrown value, then at each that it wraps. What it leaves out is filled in; undefined or null: the rule says nothing. Must answer
   * at once. A throw, a promise and an answer that is none are not heeded: the error is classified without the rule, `evidence.ignored` says so,
   * and a call with effects is in doubt.
   */
  match(value: unknown, context: ErrorContext): { readonly category: Category; readonly retryable?: boolean; readonly retryAfterMs?: number | null } | null | undefined
}

export interface ClassifierOptions {
  /** Asked in order, before all of Holdfast's own rules, except for what the caller knows of its own abort. */
  readonly rules?: readonly ClassificationRule[]
}

interface Found extends Verdict {
  readonly layer: string
  readonly depth: number
}

/** More members than this, of one error and of all that it holds, do not make the picture clearer. */
const MAX_MEMBERS = 16
const MAX_MEMBERS_IN_ALL = 48

/**
 * Makes a classifier with rules of one's own.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path: rules that are no list, or a rule without a name or a `match`.
 *
 * @example
 * const classify = createClassifier({
 *   rules: [{ name: 'ledger-closed', match: (error) => error instanceof LedgerClosed ? { category: 'server', retryable: true } : undefined }],
 * })
 */
export function createClassifier(options: ClassifierOptions = {}): Classifier {
  checkObject(options, 'options of createClassifier()', { rules: listOf(isRule) })
  // What is added to the list later is not heeded; a rule may be an object with methods.
  const rules = (options.rules ?? []).map((rule) => ({ name: rule.name, match: rule.match.bind(rule) }))
  return (error, context = {}) => {
    try {
      return classify(error, context, rules)
    } catch {
      // Not known to happen. Whoever asks what went wrong must not get another error for an answer.
      return { category: 'unknown', retryable: false, retryAfterMs: null, evidence: { rule: 'none', layer: 'error', depth: 0 } }
    }
  }
}

function isRule(value: unknown, path: string): void {
  const isPlain = typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype || Array.isArray(value)
  // An instance of a class may have members of its own.
  if (isPlain) checkObject(value, path, { name: text, match: callable })
  text(read(value, 'name'), `${path}.name`)
  callable(read(value, 'match'), `${path}.match`)
}

/** Says what kind of error `error` is, by Holdfast's own rules. Never throws; unknown errors are not retryable. */
export const classifyError: Classifier = createClassifier()

function classify(error: unknown, context: ErrorContext, rules: readonly ClassificationRule[]): Classification {
  if (context.aborted) {
    const category = context.abortReason === 'timeout' ? 'timeout' : 'cancelled'
    return classification({ category, rule: `abort:${context.abortReason ?? 'user'}`, layer: 'context', depth: 0 }, undefined, [], context)
  }
  const reader = new Reader()
  const layers = reader.layersOf(error, 'error')
  const ignored: string[] = []
  const ruled = byRules(layers, reader, context, rules, ignored)
  if (ruled !== undefined) return ruled
  const found = search(layers, reader)
  const own = classification(found, overrideOf(layers, found), reader.facts, context)
  return ignored[0] === undefined ? own : { ...own, evidence: { ...own.evidence, ignored: ignored[0] } }
}

/** A layer with what it says. */
interface Read extends Layer {
  readonly facts: Facts
}

/** Reads layers, each value once; keeps all that they said, for hints may stand anywhere. */
class Reader {
  readonly facts: Facts[] = []
  /** How many members of groups may still be read: groups in groups grow without end. */
  membersLeft = MAX_MEMBERS_IN_ALL
  readonly #seen = new Set<unknown>()

  layersOf(value: unknown, path: string): Read[] {
    const layers = layersOf(value, path, this.#seen).map((layer) => ({ ...layer, facts: factsOf(layer.value) }))
    this.facts.push(...layers.map(({ facts }) => facts))
    return layers
  }
}

function byRules(layers: readonly Read[], { facts }: Reader, context: ErrorContext, rules: readonly ClassificationRule[], ignored: string[]): Classification | undefined {
  for (const rule of rules) {
    for (const { value, path, depth } of layers) {
      const match = answerOf(rule, value, context)
      if (typeof match === 'string') ignored.push(`rule "${rule.name}" was ignored: ${match}`)
      if (typeof match !== 'object') continue
      const base = classification({ ...match, rule: `rule:${rule.name}`, layer: path, depth }, undefined, facts, context)
      return match.retryAfterMs === undefined ? base : { ...base, retryAfterMs: base.retryable ? match.retryAfterMs : null }
    }
  }
  return undefined
}

/** What a rule says; a text: what is wrong with it. */
function answerOf(rule: ClassificationRule, value: unknown, context: ErrorContext): Exclude<ReturnType<ClassificationRule['match']>, null> | string {
  try {
    const match = rule.match(value, context) ?? undefined
    return match === undefined ? undefined : (wrongAnswer(match) ?? match)
  } catch (thrown) {
    return thrownBy(thrown)
  }
}

/** The first layer with evidence, outside in. Weak evidence ("fetch failed") stands only where nothing deeper says more. */
function search(layers: readonly Read[], reader: Reader): Found {
  let weak: Found | undefined
  for (const { value, facts, path, depth } of layers) {
    const verdict = judge(value, facts)
    const found = verdict && { ...verdict, layer: path, depth }
    if (found && !found.weak) return found
    weak ??= found
    const agreed = agreement(membersOf(value) ?? [], path, depth, reader)
    if (agreed !== undefined) return agreed
  }
  return weak ?? { category: 'unknown', rule: 'none', layer: 'error', depth: 0 }
}

/** What all members of an aggregate say; `unknown` where they do not agree; undefined where none says anything. */
function agreement(members: readonly unknown[], path: string, depth: number, reader: Reader): Found | undefined {
  const found: Found[] = []
  for (const [i, member] of members.slice(0, MAX_MEMBERS).entries()) {
    if (reader.membersLeft-- <= 0) break
    const verdict = search(reader.layersOf(member, `${path}.errors[${i}]`), reader)
    // A group of which nothing could be read any more says nothing.
    if (reader.membersLeft < 0 && verdict.category === 'unknown') break
    found.push(verdict)
  }
  const [first] = found
  if (first === undefined || found.every(({ category }) => category === 'unknown')) return undefined
  if (found.some(({ category }) => category !== first.category)) return { category: 'unknown', rule: 'aggregate:mixed', layer: path, depth }
  return found.find(({ retryable }) => retryable === false) ?? first
}

function classification(found: Found, override: Override | undefined, facts: readonly Facts[], context: ErrorContext): Classification {
  const retryable = override?.retryable ?? found.retryable ?? isTransient(found.category)
  const hint = retryable ? hintOf(facts, context.now ?? systemClock.now()) : undefined
  const evidence: Evidence = {
    rule: found.rule,
    layer: found.layer,
    depth: found.depth,
    ...(hint === undefined ? {} : { hint: hint.source }),
    ...(override === undefined ? {} : { override: override.by }),
  }
  return { category: found.category, retryable, retryAfterMs: hint?.ms ?? null, evidence }
}

interface Override {
  readonly retryable: boolean
  readonly by: string
}

/** Somebody who knows has said whether retrying makes sense: the server, or the code that threw. Unknown and cancelled stay as they are. */
function overrideOf(layers: readonly Read[], { category }: Found): Override | undefined {
  if (category === 'unknown' || category === 'cancelled') return undefined
  for (const { value, facts } of layers) {
    if (read(value, 'nonRetryable') === true) return { retryable: false, by: 'nonRetryable' }
    if (isOwnError(value)) return { retryable: false, by: 'HoldfastError' }
    if (facts.names.some(isFinalName)) return { retryable: false, by: 'name' }
  }
  const word = layers.flatMap(({ facts }) => facts.headers).map((headers) => headers.get('x-should-retry')).find((each) => each === 'true' || each === 'false')
  return word === undefined ? undefined : { retryable: word === 'true', by: 'x-should-retry' }
}

/** Nothing that Holdfast throws is retried by a layer above, except a step's own timeout. */
function isOwnError(value: unknown): boolean {
  return (HoldfastError.isInstance(value) || read(value, 'name') === 'HoldfastError') && read(value, 'code') !== 'STEP_TIMEOUT'
}
