/** Bodies inside texts: SDKs and proxies print the provider's JSON (or Python's print of it) into the message. */

/** Longer texts are not parsed. */
const MAX_PARSED = 262_144

/** Words that may stand before a body. Anything else before it means that the body is only quoted, such as in a failed assertion. */
const BEFORE_BODY = /\b(?:[\w.]*(?:error|exception)|(?:error |status )?code|(?:got )?status|http|api|request failed|failed|with|upstream|provider|response|body|message|type validation failed|value|stream|chunk|data|returned|\d{3}|bad request|unauthorized|forbidden|not found|too many requests|internal server error|bad gateway|service unavailable|gateway timeout)\b/gi

/** The body that a text is or ends with, undefined when there is none. */
export function embeddedBody(text: string): unknown {
  if (text.length > MAX_PARSED) return undefined
  const start = text.slice(0, 200).search(/\{\s*["'}]|\[\s*\{/)
  if (start < 0 || start > 160) return undefined
  const before = text.slice(0, start).replace(BEFORE_BODY, '')
  if (!/^[\s:.,\-–()[\]]*$/.test(before)) return undefined
  return parse(text.slice(start).trim().replace(/\.$/, ''))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return /^\{\s*'/.test(text) ? printedByPython(text.slice(0, 8_192)) : undefined
  }
}

/** What matters of a dict as Python prints it: `{'error': {'code': 'content_filter', ...}}`. */
function printedByPython(text: string): unknown {
  const error: Record<string, unknown> = {}
  for (const [, key, word, digits] of text.matchAll(/'(code|type|status|message)': (?:'([^']{0,2000})'|(\d{1,3})\b)/g)) {
    if (key !== undefined) error[key] ??= word ?? Number(digits)
  }
  const message = /'message': "([^"]{0,2000})"/.exec(text)?.[1]
  return { error: { ...error, ...(message === undefined ? {} : { message }) } }
}
