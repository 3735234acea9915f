/** What the text adds where structure has spoken already: a 400 may be a spent quota, a 503 may be throttling. */
import type { Category } from './category.ts'
import type { Facts } from './facts.ts'
import { read } from './layers.ts'

interface Refinement {
  readonly to: Category
  /** Only these are refined. */
  readonly from: readonly Category[]
  readonly rule: string
  readonly pattern: RegExp
}

/** The first that fits decides. */
const REFINEMENTS: readonly Refinement[] = [
  {
    to: 'quota', from: ['rate_limit', 'invalid_request', 'auth'], rule: 'spent-quota',
    pattern: /exceeded your (?:current |monthly |daily |included )?(?:\w+ )?(?:quota|credits|budget|spend)|(?:insufficient|not enough|out of|no(?: more| remaining)?|used all(?: \w+)?) (?:credits?|quota|balance|funds|account balance)|(?:credit|account) balance is (?:too low|insufficient|not enough)|check your plan and billing|exceeds your (?:\w+ )?(?:quota|credits)\b|\bcredits? (?:is|are|has been|have been) (?:depleted|exhausted|used up)|billing (?:hard )?limit|billing is not (?:active|enabled)|(?:spend(?:ing)?|budget|usage|credit|key)[ -](?:limit|cap)s?\b.{0,40}(?:reached|exceeded|hit|regain)|(?:reach(?:ed|ing)|exceed(?:ed|ing)|hit(?:ting)?) (?:your|the|its|their) (?:\w+ ){0,4}(?:spend(?:ing)?|usage|credit|budget) (?:limit|cap)|limited to [\d,]+ (?:\w+ )?calls? ?(?:\/|per) ?month/i,
  },
  {
    // Stricter than the next: "input tokens has exceeded your daily rate limit" is an ordinary 429.
    to: 'context_overflow', from: ['rate_limit'], rule: 'context-overflow',
    pattern: /maximum context (?:length|window)|context[ _](?:length|window|limit)[ _]exceeded|exceeds? the (?:\w+(?:'s)? )?context/i,
  },
  {
    to: 'context_overflow', from: ['invalid_request', 'server'], rule: 'context-overflow',
    pattern: /maximum context (?:length|window|size)|(?:context|input|prompt|sequence)(?: |_)?(?:length|window|size|limit)?(?: of \d+(?: tokens)?)?(?: \w+){0,3} exceed(?:s|ed)? (?:the |this |its )?(?:\w+(?:'s)? ){0,3}(?:context|maximum|limit|length|max)|exceed(?:s|ed)? (?:the |this )?(?:\w+(?:'s)? ){0,3}context[ _](?:length|limit|window|size)|exceeds the available context|(?:prompt|input|request|conversation|messages?) (?:is|are|was) too (?:long|large)(?! in (?:bytes|pixels))|input tokens? (?:count )?(?:\(\d+\) |of \d+ )?exceeds?|too large for model with \d+ maximum|reduce the length of (?:the|your) (?:messages|prompt|input)|context (?:window|length|size|limit)(?: \w+){0,3} exceeded|context_length_exceeded|too many (?:input |prompt )?tokens|longer than the maximum model length|`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  },
  {
    to: 'content_filter', from: ['invalid_request', 'auth', 'server'], rule: 'content-filter',
    pattern: /content management policy|(?:by|triggered|due to) (?:\w+ ){0,4}content[ _-]filter|blocked by (?:\w+ ){0,3}(?:safety|content|policy|guardrail|moderation)|safety (?:system|filter|policy|polic|settings|reasons)|responsible ?ai|violat\w+ (?:of )?(?:our|the|openai's|anthropic's)? ?(?:\w+ )?(?:usage|content|safety) polic|(?:was|were|been) flagged|data inspection failed|inappropriate content/i,
  },
  { to: 'auth', from: ['invalid_request'], rule: 'bad-key', pattern: /\bapi[ -]key (?:is )?(?:not valid|invalid|expired|missing|not found)|(?:invalid|incorrect|expired|missing) (?:\w+ )?(?:api[ -]?key|access token|auth(?:entication|orization)? token|credentials)/i },
  { to: 'rate_limit', from: ['server', 'invalid_request', 'auth'], rule: 'throttled', pattern: /\bthrottl(?:ed|ing)\b|rate[ -]limit(?:s|ed)?(?: has been| was| is)? (?:exceeded|reached|hit|error)|exceed(?:ed|s)? (?:\w+ ){0,6}rate[ -]?limit|too many requests|slow down/i },
  { to: 'invalid_request', from: ['rate_limit'], rule: 'message-size', pattern: /\b(?:sent|received) message larger than max/i }, // gRPC: 8 is also for sizes
  { to: 'server', from: ['invalid_request'], rule: 'in-progress', pattern: /\b(?:another|other|concurrent|previous|first|original|same) (?:[\w-]+ ){0,4}(?:requests?|call|operation|transaction)\b.{0,60}\b(?:in[ -]progress|being processed|still (?:running|processing|pending))|\banother in-progress (?:request|call|operation)/i },
  { to: 'overloaded', from: ['server'], rule: 'overload', pattern: /\boverload(?:ed)?\b|over capacity|at (?:full )?capacity|capacity (?:\w+ )?exceeded|(?:high|heavy|peak) (?:demand|load|traffic)|(?:server|service|system|model|engine) (?:is )?(?:currently |too )*busy/i },
  { to: 'timeout', from: ['network'], rule: 'timed-out', pattern: /^timeout of \d+ ?ms exceeded$/i }, // axios: ECONNABORTED
]

/** OpenAI's sentence for both: the numbers tell whether waiting helps. */
const LIMIT_AND_REQUESTED = /\blimit:? ([\d,]+)\b.{0,60}?\brequested:? ([\d,]+)/i

/** Google says "quota" for what is back in a minute, and then says when. */
const COMES_BACK = /\b(?:retry|try again) (?:in|after) \d/i

export interface Refined {
  readonly category: Category
  readonly rule: string
}

/** What texts and details make of `category`; undefined when they leave it as it is. */
export function refine(category: Category, { texts, objects }: Pick<Facts, 'texts' | 'objects'>): Refined | undefined {
  let comesBack = false
  if (category === 'rate_limit') {
    // Google's QuotaFailure: GenerateRequestsPerDayPerProjectPerModel
    if (objects.some((object) => /PerDay/.test(String(read(object, 'quotaId') ?? '')))) return { category: 'quota', rule: 'quota-per-day' }
    comesBack = objects.some((object) => read(object, 'retryDelay') !== undefined) || texts.some((text) => COMES_BACK.test(text))
    for (const text of texts) {
      const [, limit, requested] = LIMIT_AND_REQUESTED.exec(text) ?? []
      if (limit !== undefined && requested !== undefined) {
        return amount(requested) > amount(limit) ? { category: 'context_overflow', rule: 'requested-above-limit' } : undefined
      }
    }
  }
  for (const { to, from, rule, pattern } of REFINEMENTS) {
    if (comesBack && to === 'quota') continue
    if (from.includes(category) && texts.some((text) => pattern.test(text))) return { category: to, rule }
  }
  return undefined
}

const amount = (digits: string): number => Number(digits.replaceAll(',', ''))
