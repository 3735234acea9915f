/** Text where nothing else speaks: known sentences from their first word, never words from anywhere in a text. */
import type { Category } from './category.ts'
import { byStatus, REASONS } from './status.ts'

export interface TextVerdict {
  readonly category: Category
  readonly rule: string
  readonly retryable?: false
  /** What an error wraps knows better. */
  readonly weak?: true
}

/** What may stand before the sentence: how languages and wrappers print an error. */
const PREFIX = /^(?:error: |uncaught (?:\(in promise\) )?|failed after \d+ attempts?(?: with non-retryable error)?[.:] (?:last error: )?'?|mcp error -?\d+: |streamable http error: |mcp (?:http|sse) transport error: |api error occurred: |\[[\w. ]*error\]: (?:error fetching from \S+: )?)/i

/** A class name before the sentence: `litellm.RateLimitError: ...`. */
const CLASS = /^((?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception)): /

/** A status, introduced as one. */
const STATUS = /^(?:request failed with (?:status(?: code)?|http) |(?:unexpected |bad |invalid )?(?:server )?response (?:status(?: code)?|code):? |unexpected server response: |http[ -]?(?:error)?[!:]? (?:status(?: code)?:? ?)?|http(?:\/[\d.]+)?:? |(?:error )?posting to endpoint \(http |status[ _]code[:=]? |error code: |got status:? |server (?:responded with|returned)(?: status(?: code)?| http)?:? |(?:bad|unexpected) status(?: code)?:? )\(?([45]\d\d)\b(?!\.\d)/i
const BARE_STATUS = /^status:? ([45]\d\d)(?=\s*(?:$|[.,:;\-{(]))/i
const LEADING = /^\[?([45]\d\d)(?:\]|:| -)?(?: |$)(.*)/s

interface Sentence {
  readonly category: Category
  readonly rule: string
  readonly pattern: RegExp
  /** Only where the error is a TypeError, as fetch throws it. */
  readonly fetch?: true
  readonly weak?: true
}

const SENTENCES: readonly Sentence[] = [
  { category: 'network', rule: 'fetch', fetch: true, weak: true, pattern: /^(?:fetch failed|terminated|failed to fetch(?: \([^)]*\))?|load failed(?: \([^)]*\))?|network ?error(?: when attempting to fetch resource\.?)?|network request failed|the network connection was lost\.?|the internet connection appears to be offline\.?|a server with the specified hostname could not be found\.?)$/i },
  { category: 'invalid_request', rule: 'fetch-misuse', pattern: /^(?:bad port|unknown scheme|url scheme must be a http\(s\) scheme|redirect count exceeded|cors failure|invalid url)$/i },
  { category: 'timeout', rule: 'timed-out', pattern: /^(?:(?:the |api )?(?:request|operation|connection|read|connect|socket|query|response|call|connection attempt)?(?: has| was)? ?(?:timed out|timeout)(?:\.|!|$|: | after \d| \(| while (?:waiting|connecting|reading)| waiting for)|timeout of \d+ ?ms exceeded$|(?:connect|headers|body) timeout error|(?:the )?operation was aborted due to (?:a )?timeout|network timeout at: |promise timed out after |(?:server selection|command) timed out(?:$| after \d)|query read timeout$|timeout exceeded when trying to connect|connection terminated due to connection timeout$|request aborted due to timeout being reached|timeout awaiting '|http\/2: "?\w+ timeout|deadline exceeded(?:[.:]|$)|gateway time-?out\.?$)/i },
  { category: 'cancelled', rule: 'aborted', pattern: /^(?:request was aborted\.?|(?:this|the) operation was aborted\.?|the user aborted a request\.?|signal is aborted without reason)$/i },
  { category: 'network', rule: 'cannot-connect', weak: true, pattern: /^(?:cannot connect to api: |connection error\.?$|network connection lost\.?$|network error$|unable to connect\. is the computer|request to \S+ failed, reason: )/i },
  { category: 'timeout', rule: 'browser-timeout', pattern: /^(?:[\w.]+: )?net::ERR_(?:CONNECTION_)?TIMED_OUT\b/ },
  { category: 'network', rule: 'browser', pattern: /^(?:[\w.]+: )?net::ERR_(?:CONNECTION_|INTERNET_DISCONNECTED|NAME_|NETWORK_|EMPTY_RESPONSE|SOCKET_|ADDRESS_UNREACHABLE|HTTP2_|QUIC_|PROXY_)/ },
  { category: 'network', rule: 'connection', pattern: /^(?:error sending request (?:for url|from)\b|http\/2: "?goaway"?|socket hang up$|premature close$|other side closed$|(?:the )?socket connection was closed unexpectedly|client network socket disconnected before|connection (?:is )?(?:terminated|closed|reset by peer|refused|lost|ended)(?: unexpectedly)?\.?$|connection lost: the server closed the connection\.?$|terminating connection due to \w+ (?:command|of a crashed)|peer closed connection without|server disconnected without sending|upstream connect error or disconnect|(?:tls )?socket (?:was )?closed(?: unexpectedly)?\.?$|unexpected socket close$|disconnects client$|stream closed(?: unexpectedly)?\.?$|stream closed with error code NGHTTP2_\w+$|session closed with error code (?:\d+|NGHTTP2_\w+)$)/i },
  // A response that ended before its end, as @anthropic-ai/sdk, the AI SDK and openai say it.
  { category: 'network', rule: 'broken-stream', pattern: /^(?:request ended without sending any chunks$|stream ended without producing a message with role=assistant$|response stream ended without a finish reason\.?$|error reading response: malformed server-sent event json\b)/i },
  { category: 'rate_limit', rule: 'rate-limit', pattern: /^(?:(?:api |the )?rate limit (?:exceeded|reached|hit)(?:[.:,!]|$| for | on | in organization)|too many requests(?:[.:,!]|$)|rate exceeded\.?$|you(?:'ve| have)? (?:exceeded|hit|reached) (?:your|the) (?:\w+ )?rate limit|requests? rate limit exceeded)/i },
  { category: 'overloaded', rule: 'overload', pattern: /^(?:overloaded(?:[.:!]|$)|(?:the |our |this )?(?:model|engine|servers?|service)(?: \S+){0,3} (?:is|are) (?:currently |temporarily )*(?:overloaded|experiencing high demand))/i },
  { category: 'server', rule: 'reason-phrase', pattern: /^(?:internal server error|bad gateway|service unavailable|service temporarily unavailable)\.?$/i },
  { category: 'server', rule: 'redis', pattern: /^(?:LOADING Redis|BUSY Redis|TRYAGAIN |CLUSTERDOWN |MASTERDOWN )/ },
  { category: 'server', rule: 'database-locked', pattern: /^database (?:table )?is locked/i },
  { category: 'quota', rule: 'spent-quota', pattern: /^(?:you(?:'ve| have)? exceeded your current quota|your (?:credit|account) balance is too low|insufficient (?:credits?|quota)(?:[.:,!]|$)|you have reached your (?:specified )?(?:api )?usage limits)/i },
  { category: 'context_overflow', rule: 'context-overflow', pattern: /^(?:this model's maximum context length|prompt is too long(?:[.:]|$)|input length and `max_tokens` exceed|input is too long for requested model|the input token count|your input exceeds the context window|the request exceeds the available context size)/i },
  { category: 'content_filter', rule: 'content-filter', pattern: /^(?:the response was filtered due to|output blocked by content filtering|your request was rejected as a result of our safety system|prompt was blocked)/i },
  { category: 'auth', rule: 'bad-key', pattern: /^(?:incorrect api key|invalid (?:x-)?api[ -]?key|api key (?:not valid|is invalid|expired)|no api key (?:found|provided)|no auth credentials)/i },
]

/** A system call and its errno, as Node prints them: `connect ECONNREFUSED 10.0.0.1:443`. */
const SYSCALL = /^(?:(?:connect|read|write|getaddrinfo|queryA{1,4}|send|recv|accept|socket|shutdown|request to \S+ failed, reason: (?:connect|read|write|getaddrinfo)) )?(E[A-Z]{3,}(?:_[A-Z]+)?)(?=$|[ :])/

/** gRPC, as its libraries print it: `14 UNAVAILABLE: ...`, `rpc error: code = Unavailable desc = ...`. */
const GRPC = /^(?:(\d{1,2}) [A-Z_]+: |rpc error: code = (\w+) desc = )/

export interface Readings {
  /** What a gRPC code in a text means, by number or name. */
  readonly grpc: (code: string) => Omit<TextVerdict, 'weak'> | undefined
  /** What an errno in a text means. */
  readonly errno: (code: string) => Omit<TextVerdict, 'weak'> | undefined
  /** What a class name before a text means. */
  readonly name: (name: string) => Category | undefined
}

/** What the text of an error called one of `names` says by itself; undefined when it begins like nothing that is known. */
export function byText(text: string, names: readonly string[], readings: Readings): TextVerdict | undefined {
  let rest = text.trim()
  let typeError = names.includes('TypeError')
  for (let i = 0; i < 4; i++) {
    const name = CLASS.exec(rest)
    if (name?.[1] !== undefined) {
      const category = readings.name(name[1])
      if (category !== undefined) return { category, rule: `name:${name[1]}` }
      typeError ||= name[1] === 'TypeError'
      rest = rest.slice(name[0].length)
    } else if (PREFIX.test(rest)) rest = rest.replace(PREFIX, '')
    else break
  }
  const status = statusIn(rest)
  if (status !== undefined) return { ...byStatus(status), rule: `status:${status}` }
  const grpc = GRPC.exec(rest)
  const remote = grpc === null ? undefined : readings.grpc(grpc[1] ?? grpc[2] ?? '')
  if (remote !== undefined) return remote
  const errno = SYSCALL.exec(rest)?.[1]
  const verdict = errno === undefined ? undefined : readings.errno(errno)
  if (verdict !== undefined) return verdict
  const sentence = SENTENCES.find(({ fetch, pattern }) => (!fetch || typeError) && pattern.test(rest))
  if (sentence === undefined) return undefined
  return { category: sentence.category, rule: `text:${sentence.rule}`, ...(sentence.weak ? { weak: true } : {}) }
}

/** A status counts where the text says that it is one, or goes on with its reason phrase, a body, or nothing that SDKs had to say. */
function statusIn(text: string): number | undefined {
  const introduced = (STATUS.exec(text) ?? BARE_STATUS.exec(text))?.[1]
  // "HTTP 500 page not styled" is about a page.
  if (introduced !== undefined) return /^http[ -]?\d{3} (?!(?:error|response|from|on|for|while|when|at|after|by)\b)[a-z]/i.test(text) && !isReason(Number(introduced), text.slice(text.indexOf(introduced) + 3)) ? undefined : Number(introduced)
  const [, digits, rest] = LEADING.exec(text) ?? []
  if (digits === undefined || rest === undefined) return undefined
  const status = Number(digits)
  const next = rest.trimStart().toLowerCase()
  const known = next.startsWith('{"') || /^(?:status code \(no body\)|(?:client|server) error\b)/.test(next) || isReason(status, next)
  return known ? status : undefined
}

function isReason(status: number, text: string): boolean {
  const next = text.trimStart().toLowerCase()
  return REASONS[status]?.some((phrase) => next.startsWith(phrase)) ?? false
}
