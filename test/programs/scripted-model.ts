/** The model of a program: its answer is a pure function of the conversation, so that everybody can tell whose answer it is. */
import { APICallError } from '@ai-sdk/provider'
import type {
  LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4FinishReason, LanguageModelV4GenerateResult,
  LanguageModelV4Prompt, LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { createHash } from 'node:crypto'
import { position } from './position.ts'
import type { Behaviour, CallNode, Gate, Program, Turn } from './program.ts'
import { never, type Session } from './session.ts'

export const digest = (value: unknown): string => createHash('sha1').update(JSON.stringify(value) ?? 'undefined').digest('hex').slice(0, 8)

const USAGE = { inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 2, text: 2, reasoning: 0 } }

export interface Answer {
  readonly text: string
  readonly calls: readonly { readonly node: CallNode; readonly input: string }[]
  readonly turn: Turn | undefined
}

/** What the model answers to a conversation, when it is asked for the `nth` time. */
export function answerTo(program: Program, prompt: LanguageModelV4Prompt, nth = 1): Answer {
  const conversation = prompt.filter((message) => message.role !== 'system').map(essence)
  const seen = digest(conversation)
  const [script = ''] = textOf(prompt.find((message) => message.role === 'user')).split(' in attempt ')
  const number = prompt.filter((message) => message.role === 'assistant').length
  const turn = program.scripts[script]?.[number]
  const reader = /You are (\w+)/.exec(textOf(prompt.find((message) => message.role === 'system')))?.[1] ?? 'nobody'
  const told = turn?.fickle ? `time ${nth}` : turn?.dependent ? seen : undefined
  const calls = (turn?.calls ?? []).map((node) => ({ node, input: JSON.stringify(argumentsOf(node, told)) }))
  return { text: `${script} ${number} ${seen} ${reader}`, calls, turn }
}

export interface Arguments {
  readonly arg: number
  readonly does: Behaviour
  readonly seen?: string
  /** Of `team`: which part of the program it runs. */
  readonly part?: string
  readonly gate?: Gate
}

/** A tool is told in its arguments how to behave. */
const argumentsOf = ({ arg, does, inside, gate }: CallNode, seen: string | undefined): Arguments => ({
  arg,
  does,
  ...(seen !== undefined && { seen }),
  ...(inside && { part: digest(inside) }),
  ...(gate && { gate }),
})

/** What of a message tells it apart. */
function essence({ role, content }: LanguageModelV4Prompt[number]): unknown {
  if (typeof content === 'string') return [role, content]
  const parts = content.map((part) => {
    switch (part.type) {
      case 'text': return part.text
      case 'tool-call': return [part.toolCallId, part.toolName, part.input]
      case 'tool-result': return [part.toolCallId, part.toolName, part.output]
      default: return part.type
    }
  })
  // streamText puts results in the order in which they come: that is luck, and must not show in the result of a program.
  return [role, role === 'tool' ? parts.map((part) => JSON.stringify(part)).sort() : parts]
}

function textOf(message: LanguageModelV4Prompt[number] | undefined): string {
  if (!message) return ''
  if (typeof message.content === 'string') return message.content
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The model as one process reaches it. */
export function scriptedModel(session: Session): LanguageModelV4 {
  const { program, world } = session

  const request = async (options: LanguageModelV4CallOptions): Promise<Answer & { readonly breaks: boolean }> => {
    const at = position()!
    if ((await session.cross('before model')) || session.frozen) return never()
    world.requests++
    const start = world.start(session, at, undefined)
    await session.latency()
    if ((await session.cross('after model')) || session.frozen) return never()
    const answer = answerTo(program, options.prompt, world.answer(at))
    const fault = answer.turn?.fault
    const fails = fault !== undefined && (fault.type === 'fatal' || world.nthTry(at) <= fault.times)
    start.failed = fails
    if (fails && fault.type !== 'break') throw apiError(fault.type)
    return { ...answer, breaks: fails }
  }

  return {
    specificationVersion: 'v4',
    provider: 'simulated',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate(options) {
      const answer = await request(options)
      if (answer.breaks) throw apiError('busy')
      return { content: contentOf(answer), finishReason: finishOf(answer), usage: USAGE, warnings: [] } satisfies LanguageModelV4GenerateResult
    },
    async doStream(options) {
      const answer = await request(options)
      const parts = partsOf(answer)
      let next = 0
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async pull(controller) {
          if ((await session.cross('stream part')) || session.frozen) return never()
          await session.latency()
          if (session.frozen) return never()
          if (answer.breaks && next === 3) return controller.error(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
          const part = parts[next++]
          if (part) controller.enqueue(part)
          else controller.close()
        },
      }, { highWaterMark: 0 })
      return { stream }
    },
  }
}

const contentOf = ({ text, calls }: Answer): LanguageModelV4Content[] => [
  { type: 'text', text },
  ...calls.map(({ node, input }) => ({ type: 'tool-call' as const, toolCallId: node.id, toolName: node.tool, input })),
]

const finishOf = ({ calls }: Answer): LanguageModelV4FinishReason => ({ unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined })

function partsOf(answer: Answer): LanguageModelV4StreamPart[] {
  const half = answer.text.length >> 1
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: answer.text.slice(0, half) },
    { type: 'text-delta', id: 't', delta: answer.text.slice(half) },
    { type: 'text-end', id: 't' },
    ...contentOf(answer).filter((part) => part.type === 'tool-call'),
    { type: 'finish', finishReason: finishOf(answer), usage: USAGE },
  ]
}

function apiError(type: 'busy' | 'wait' | 'fatal'): APICallError {
  const statusCode = { busy: 503, wait: 429, fatal: 400 }[type]
  return new APICallError({
    message: `simulated ${statusCode}`,
    url: 'http://simulated',
    requestBodyValues: {},
    statusCode,
    isRetryable: statusCode !== 400,
    ...(type === 'wait' && { responseHeaders: { 'retry-after': '600' } }),
  })
}
