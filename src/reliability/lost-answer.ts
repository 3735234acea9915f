/**
 * What says that the answer to something that was sent got lost, was cut, cannot be read, or came too late (R6). Looser than classification,
 * which decides about retries: there a false hit sends something twice, here it costs a question.
 */
import { factsOf } from './classification/facts.ts'
import { namesOf, read } from './classification/layers.ts'

/** Longer texts say what they have to say at their beginning. */
const MAX_TEXT = 4_096
const MAX_TEXTS = 8

/** Whether one layer of an error says so: by a code or a name, by a bare status, or in words. */
export function saysLost(value: unknown): boolean {
  return isFailure(value) || isElsewhere(value) || cannotBeRead(value) || isCalledSo(value) || inWords(value)
}

/** `throw response.status`, `{ cause: response.status }`. */
const isFailure = (value: unknown): boolean => typeof value === 'number' && value >= 500 && value <= 599

/** A redirect that was not followed: no refusal, and often the answer to what was done. A 2xx may be: many services refuse in the body of one. */
function isElsewhere(value: unknown): boolean {
  return [value, read(value, 'response'), read(value, 'res')].some((each) => [read(each, 'status'), read(each, 'statusCode')].some((status) => typeof status === 'number' && status >= 300 && status <= 399))
}

/** Families of codes about a conversation with somebody: what fails there fails while it goes on. Not those about how it is asked (`..._INVALID_...`). */
const CONVERSATION = /^(?:UND_ERR|ERR_(?:STREAM|HTTP2?|SOCKET|TLS|SSL|QUIC|IPC|WORKER|READING|FR|_ERROR|BAD_RESPONSE|BROTLI|ZSTD|TOO_MANY_REDIRECTS|REDIRECT|BODY|INCOMPLETE|CONTENT_LENGTH))(?:_(?!\w*INVALID_|NOT_SUPPORTED|HEADERS_SENT|SEND_FILE)[A-Z_0-9]+)?$|^(?:HPE|Z|ZSTD_error|BROTLI_DECODER?)_\w+$/

/** Words under `code` or `type` for an answer that came, and that the client could not or would not take: @azure, node-fetch, TextDecoder. */
const NOT_TAKEN: readonly unknown[] = ['PARSE_ERROR', 'ERR_ENCODING_INVALID_ENCODED_DATA', 'invalid-json', 'max-size', 'max-redirect', 'no-redirect', 'body-timeout', 'request-timeout']

/** Error classes of the same: `DeserializationError`, `ServerParseError`, `InvalidResponseDataError`. */
const READER = /(?:Deserializ\w*|Decod(?:e|ing|er)|Decompress\w*|(?:Server|Response|Body|JSON)Pars(?:e|ing)|(?:Invalid|Malformed|Unexpected|Empty|Truncated|Incomplete)(?:Response|Body|Answer|Read)\w*|(?:Too)?ManyRedirects|MaxRedirects?)(?:Error|Exception)$/i

function cannotBeRead(value: unknown): boolean {
  for (const key of ['code', 'type']) {
    const code = read(value, key)
    if (NOT_TAKEN.includes(code) || (typeof code === 'string' && code.length < 100 && CONVERSATION.test(code))) return true
  }
  const names = namesOf(value)
  if (names.some((name) => READER.test(name))) return true
  // Of JSON alone: a pattern or a program that does not parse was never sent. All engines name it in their messages.
  return names.includes('SyntaxError') && /\bJSON\b/.test(textOf(value))
}

/** Classes and codes of one's own, by the last word of their name: `RefundTimeout`, `BankConnectionError`, `bank_timeout`, `NO_RESPONSE`. Of many a word says nothing (`ROOM_UNAVAILABLE`). */
const NAME = /(?:Time(?:d)?Out|Connection(?:Lost|Closed|Reset|Broken|Failed|Aborted)?|Network|Socket|Disconnect(?:ed|ion)?|Unreachable|Interrupted|Aborted|ServerFault|BadGateway|ServiceUnavailable|NoResponse|OutcomeUnknown)(?:Error|Exception|Failure)?$/i
const OWN_CODE = /^(?!(?:invalid|bad|missing|unknown|unsupported)_)(?:\w*(?:timeout|timed_?out)|(?:\w+_)?(?:connection_(?:lost|closed|reset|error|failed|aborted|broken)|disconnected|unreachable|network_(?:error|failure)|no_(?:response|answer|reply)|service_unavailable|internal(?:_server)?_error|server_error|bad_gateway|deadline_exceeded|outcome_unknown|unknown_outcome))(?:_error)?$/i

function isCalledSo(value: unknown): boolean {
  if (namesOf(value).some((name) => name.length < 100 && NAME.test(name))) return true
  return ['code', 'type', 'errorCode', 'error_code', 'reason', 'status'].some((key) => {
    const code = read(value, key)
    return typeof code === 'string' && code.length < 100 && OWN_CODE.test(code.replaceAll('-', '_'))
  })
}

const ANSWER = '(?:response|answer|reply)'
const SERVER = '(?:servers?|service|gateway|backend|upstream|api|host|endpoint|provider|database|network|system|bank)'
const CANNOT = "(?:could not|couldn't|cannot|can't|failed to|unable to)"

/** English ones. Each is tried against what tools say of ordinary refusals (after-error.test.ts). */
const WORDS: readonly RegExp[] = [
  // late
  /\btimed[ -]?out\b|\btime[ -]?out (?:after|while|waiting|exceeded|reached|expired|error\b|\()|\btimeout of \d/i,
  /^(?!(?:.* )?(?:invalid|unknown|bad|missing|unsupported|wrong|setting|option|field|no|a|an|the|of|for|with|without|positive|negative)\b:? timeout\W*$)(?:.*: )?[^:]*\w timeout\W*$/i,
  /\btook (?:too long|longer than|more than \d)|\btime limit (?:was |has been )?(?:exceeded|reached|hit)|\bexceeded (?:the |its |a )?time ?(?:limit|out)\b|\bdeadline (?:was |has been )?exceeded\b|\bg(?:ave|iving) up\b/i,
  /\bno (?:response|answer|reply|acknowledge?ment|ack)(?=\s*$|\s*[^\w\s]|\s+(?:from|in|within|after|before|received|to|yet|at|was|came|for|by|of)\b)|\b(?:not|n't|never) (?:yet )?(?:respond|answer(?!able)|repl(?:y|ied)|acknowledg)|\bunresponsive\b|\b(?:not|n't) (?:finish|complete|return|come back|end)\w*\b[^.;]{0,20}\b(?:with)?in \d/i,
  // lost
  /\bconnections?\b[^.;]{0,60}\b(?:lost|closed|reset|broken|dropped|terminated|aborted|refused|ended|died|failed|severed|interrupted|cut)\b|\b(?:lost|dropped|broken|interrupted) (?:\w+ )?connection\b|\bdisconnected\b/i,
  /\b(?:sockets?|streams?|channel|pipe|tunnel|transport|websocket)\b[^.;]{0,40}\b(?:closed|hang up|hung up|reset|destroyed|broken|lost|died)\b|\bhung up\b|\bbroken pipe\b|\bunexpected(?:ly)? close|\bfin packet\b|\bclosed because timeout\b|\bend-of-file on communication channel/i,
  new RegExp(`\\bunreachable\\b|\\bnetwork (?:error|failure|problem|issue|outage)|\\bfetch failed\\b|\\b(?:failed to fetch|load failed|network request failed)\\W*$|\\b${CANNOT} (?:connect(?: to\\b|\\W*$)|reach (?:https?:|(?:[\\w-]+ ){0,4}${SERVER}\\b))|\\b${SERVER}\\b[^.;]{0,30}\\b(?:unavailable|is down|went away|gone away|shutting down|restarting)\\b`, 'i'),
  /\b(?:worker|thread|browser|container|pod)\b[^.;]{0,40}\b(?:exited|exit code|crashed|died|terminated|killed|stopped)\b|\b(?:process|server|instance|program)\b[^.;]{0,40}\b(?:crashed|died|was killed|out of memory)\b/i,
  // cut, or nothing that can be read
  new RegExp(`\\b(?:unexpected|premature(?:ly)?) (?:end|eof|close)|\\btruncated (?:${ANSWER}|body|stream|data|json)|\\b(?:${ANSWER}|body|stream|data|json)\\b[^.;]{0,30}\\btruncated\\b|\\b(?:invalid|malformed|unparse?able|unreadable|garbled|corrupt(?:ed)?|unexpected|empty|bad|partial|incomplete|missing) (?:\\w+ ){0,2}${ANSWER}\\b`, 'i'),
  new RegExp(`\\b${CANNOT} (?:parse|decode|read|deserialize|decompress|understand|interpret|validate) (?:\\w+ ){0,4}${ANSWER}\\b|\\b(?:not|n't) (?:a |an )?valid json\\b|\\bdecompression failed\\b|\\bincorrect header check\\b|\\bencoded data was not valid\\b|\\bbody (?:is unusable|(?:has |was )?already (?:been )?(?:read|used|consumed))`, 'i'),
  /\bEOF\W*$/,
  /\btoo many redirect|\bredirect(?:s|ed)?\b[^.;]{0,30}\b(?:exceeded|reached|times)\b|\b(?:response|answer|reply|received message|download)\b[^.;]{0,40}\b(?:larger than|too large|too big|over (?:the )?limit|exceed(?:s|ed) (?:the )?max)/i,
  // said outright
  /\b(?:outcome|result|status|state)\b[^.;]{0,20}\b(?:unknown|unclear|uncertain|ambiguous|indeterminate|undetermined)\b|\bunknown (?:outcome|result|state)\b|\b(?:may|might|could) (?:or may not )?(?:already )?have (?:already )?(?:succeeded|gone through|taken (?:effect|place)|been (?:processed|charged|refunded|paid|sent|made|created|applied|completed|executed|received|delivered|booked|committed))/i,
  // a failure of the server
  /\binternal[ _](?:(?:server|service)[ _])?error\b|\b(?:bad gateway|service (?:temporarily )?unavailable|gateway time-?out|server error|5xx)\b/i,
  /(?:\b(?:(?:http_)?status(?: ?code)?|http(?:[ -]error|\/[\d.]+)?|(?:response|error|http) code|(?:failed|respond(?:ed|s)|answer(?:ed|s)|replied|rejected|ended|came back) with(?: an?)?|return(?:ed|s)(?: an?)?|got an?|received an?|error|failed|failure)|[-=]>|→)[ :=([#!]{0,3}(?:(?:status(?: code)?|http|code):? ?)?\(?5\d\d\b(?![.,]\d)(?=$|[.,:;!)\]}'"]|\s*(?:$|[-–—{([<]|(?:from|on|for|while|when|at|after|by|error|response|status|internal|bad|service|gateway|server|not implemented|unknown|web|origin|overloaded|proxy)\b))/i,
]

function inWords(value: unknown): boolean {
  // Also of what it carries: the body of an answer, a detail.
  const texts = [textOf(value), ...(typeof value === 'object' ? factsOf(value).texts.slice(0, MAX_TEXTS) : [])]
  return [...new Set(texts)].some((text) => text !== '' && WORDS.some((pattern) => pattern.test(text)))
}

/** The message of an error, or a text that was thrown. */
export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : read(value, 'message')
  return typeof text === 'string' ? text.slice(0, MAX_TEXT) : ''
}
