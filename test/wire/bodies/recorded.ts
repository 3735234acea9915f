/** The recorded bodies beside the project, each with the provider package that reads it, in the packets in which it is sent. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sse, STREAM_HEADERS } from '../answers.ts'
import type { MODELS } from '../clients/ai-sdk.ts'
import type { Reply } from '../loopback.ts'

const FOLDER = join(import.meta.dirname, '../../../../shared/wire')

export const present = existsSync(FOLDER)
/** For the name of what is skipped. */
export const where = present ? '' : ' (skipped: there is no ../shared/wire beside the project)'

export interface RecordedBody {
  readonly name: string
  readonly model: keyof typeof MODELS
  readonly streamed: boolean
  readonly packets: readonly string[]
}

/** By the beginning of the file's name. */
const READERS: readonly (readonly [string, keyof typeof MODELS])[] = [
  ['anthropic-', '@ai-sdk/anthropic'], ['google-', '@ai-sdk/google'], ['openai-responses-', '@ai-sdk/openai'], ['openai-chat-', '@ai-sdk/openai chat'],
  ['', '@ai-sdk/openai-compatible'],
]

/** Pieces of a body that is not streamed, in characters. */
const PIECE = 100

function load(name: string): RecordedBody {
  const text = readFileSync(join(FOLDER, name), 'utf8')
  const [, model] = READERS.find(([prefix]) => name.startsWith(prefix))!
  if (name.endsWith('.json')) return { name, model, streamed: false, packets: text.match(new RegExp(`[^]{1,${PIECE}}`, 'g')) ?? [] }
  if (name.endsWith('.sse')) return { name, model, streamed: true, packets: text.split(/(?<=\n\n)/).filter((packet) => packet.trim() !== '') }
  const events = text.split('\n').filter((line) => line.trim() !== '').map((line) => sse(eventOf(line)))
  const isChat = model.endsWith('chat') || model.endsWith('compatible')
  return { name, model, streamed: true, packets: isChat ? [...events, sse('[DONE]')] : events }
}

/** Two lines of a recording have lost their last brace. */
function eventOf(line: string): object {
  try {
    return JSON.parse(line) as object
  } catch {
    return JSON.parse(`${line}}`) as object
  }
}

const all = present ? readdirSync(FOLDER).filter((name) => /\.(?:json|txt|sse)$/.test(name)).map(load) : []

/** Answers. What is in them of failures is {@link failures}. */
export const answers = all.filter(({ name }) => !name.includes('-error'))
export const failures = all.filter(({ name }) => name.includes('-error'))

/** The body as a reply: whole, or only its first packets, and then `end`. */
export const replyOf = ({ streamed, packets }: RecordedBody, count = packets.length, end: NonNullable<Reply['end']> = 'end'): Reply =>
  ({ body: packets.slice(0, count), end, headers: { date: 'Sun, 29 Nov 2026 12:00:00 GMT', ...(streamed && STREAM_HEADERS) } })
