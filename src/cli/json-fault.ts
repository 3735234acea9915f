/** Where a text is no JSON, without a word of it: what `JSON.parse` says holds some, which may be a secret. */

const TOKEN = /[ \t\n\r]*(?:("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|([[\]{},:]))/y
const SPACE = /[ \t\n\r]*/y

type Next = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'nothing'

/** `it is none from position 3 on (line 1, column 4)`, the position from 0; or that it ends too early. */
export function jsonFault(text: string): string {
  const at = faultAt(text)
  if (at >= text.length) return 'it ends too early'
  const lines = text.slice(0, at).split('\n')
  return `it is none from position ${at} on (line ${lines.length}, column ${lines.at(-1)!.length + 1})`
}

function faultAt(text: string): number {
  const open: ('[' | '{')[] = []
  let next: Next = 'value'
  for (let at = 0; ; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at
    const [token, literal, sign] = TOKEN.exec(text) ?? []
    const after: Next | undefined = token === undefined ? undefined : following(next, literal === undefined ? (sign ?? 'scalar') : 'text', open)
    if (after === undefined) {
      SPACE.lastIndex = at
      return at + SPACE.exec(text)![0].length
    }
    next = after
  }
}

/** What may stand behind a token; undefined: it must not stand there. */
function following(next: Next, token: string, open: ('[' | '{')[]): Next | undefined {
  const ended = (): Next => (open.length === 0 ? 'nothing' : ', or end')
  if (next === ':') return token === ':' ? 'value' : undefined
  if (next === 'key' || next === 'key or }') {
    if (token === 'text') return ':'
  } else if (next === 'value' || next === 'value or ]') {
    if (token === '[' || token === '{') {
      open.push(token)
      return token === '[' ? 'value or ]' : 'key or }'
    }
    if (token === 'text' || token === 'scalar') return ended()
  } else if (next === ', or end' && token === ',') return open.at(-1) === '[' ? 'value' : 'key'
  const end = open.at(-1) === '[' ? ']' : '}'
  if (token !== end || !(next === ', or end' || next.endsWith(`or ${end}`))) return undefined
  open.pop()
  return ended()
}
