/** The scripted model server: OpenAI chat completions over loopback HTTP, answered from scripts. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import { Answering } from './answering.ts'
import type { RecordedRequest } from './answering.ts'
import type { ReplyScript, Script } from './conversation.ts'
import { parseFaultPlan } from './fault-plan.ts'
import type { FaultPlan } from './faults.ts'
import { checkedObject, checkInteger, invalid } from './invalid.ts'
import { perform } from './perform.ts'
import { prepareScript } from './resolve.ts'
import { parseScripts } from './script.ts'
import { jsonActions } from './wire.ts'
import type { WireAction } from './wire.ts'

export interface ModelServerOptions {
  /** What is answered from. A request names its conversation with the header `x-conversation`, or is known by its messages. */
  readonly conversations?: readonly Script[]
  /** Short for one conversation that is a function; its id is `reply`. */
  readonly reply?: ReplyScript['reply']
  /** Default: none. */
  readonly faults?: FaultPlan
  /** Default: 0, a free port. */
  readonly port?: number
  /** The names that `GET /v1/models` lists; a request may name any. Default: `scripted`. */
  readonly models?: readonly string[]
  /** For the times of the record and the waits of `delay` faults. Default: the system's. */
  readonly clock?: Clock
}

export interface ModelServer {
  /** The base URL for a client, `/v1` included. */
  readonly url: string
  /** Every request for a completion so far, in the order of their arrival. */
  readonly requests: readonly RecordedRequest[]
  /** Replaces the plan; the counts of tries go on. Throws HoldfastError `INVALID_OPTIONS`. */
  setFaults(faults: FaultPlan): void
  /** Ends all connections, those that hang too. */
  close(): Promise<void>
}

/**
 * Starts a model server on 127.0.0.1.
 *
 * Answers follow from the conversation that a request holds: a repeated request gets the same answer, an unknown one a
 * 400 that says where it departed from the nearest script.
 *
 * @throws HoldfastError `INVALID_OPTIONS`, with the path of what is wrong.
 * @example
 * const server = await startModelServer({ conversations: [conversation('greeting').user('Hi').assistant('Hello.')] })
 * const model = createOpenAICompatible({ name: 'scripted', baseURL: server.url })('scripted')
 */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const serving = checked(options)
  const server = createServer((request, response) => {
    handle(serving, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(options.port ?? 0, '127.0.0.1', done)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: serving.answering.requests,
    setFaults(faults) {
      serving.answering.faults = parseFaultPlan(faults)
    },
    close: () => new Promise((done) => {
      server.close(() => done())
      server.closeAllConnections()
    }),
  }
}

interface Serving {
  readonly answering: Answering
  readonly models: readonly string[]
  readonly clock: Clock
}

function checked(options: ModelServerOptions): Serving {
  checkedObject('options', options, ['conversations', 'reply', 'faults', 'port', 'models', 'clock'])
  const { conversations, reply, faults = [], port, models = ['scripted'], clock = systemClock } = options
  if ((conversations === undefined) === (reply === undefined)) {
    throw new HoldfastError('INVALID_OPTIONS', 'options must have either conversations or reply')
  }
  checkInteger('port', port, 0)
  if (Number(port ?? 0) > 65_535) throw invalid('port', 'at most 65535', port)
  const scripts = reply === undefined ? parseScripts(conversations) : parseScripts([{ id: 'reply', reply }], 'options')
  return { answering: new Answering({ scripts: scripts.map(prepareScript), faults: parseFaultPlan(faults), clock }), models, clock }
}

async function handle(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await bodyOf(request)
  await perform(response, route(serving, request, text), serving.clock)
}

function route(serving: Serving, request: IncomingMessage, text: string): WireAction[] {
  const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
  const { answering, models } = serving
  switch (`${request.method} ${pathname}`) {
    case 'POST /v1/chat/completions':
      return answering.answer(headersOf(request), text)
    case 'GET /v1/models':
      return jsonActions(200, { object: 'list', data: models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'holdfast' })) })
    case 'GET /__requests':
      return jsonActions(200, answering.requests)
    case 'GET /__faults':
      return jsonActions(200, answering.faults)
    case 'POST /__faults':
      return replaceFaults(answering, text)
    default:
      return jsonActions(404, errorBody(`No such address: ${request.method} ${pathname}`))
  }
}

function replaceFaults(answering: Answering, text: string): WireAction[] {
  try {
    answering.faults = parseFaultPlan(JSON.parse(text))
    return jsonActions(200, answering.faults)
  } catch (error) {
    return jsonActions(400, errorBody(error instanceof Error ? error.message : String(error)))
  }
}

function errorBody(message: string): object {
  return { error: { message, type: 'invalid_request_error', code: null } }
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
