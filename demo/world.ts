/**
 * The outside world as a process of its own: payments, mail, tickets, orders, customers, policies. It counts every request
 * and every effect (`GET /ledger`). Prints one line of JSON with its `url` when it is ready; ends with its parent, on
 * SIGTERM and on SIGINT.
 *
 * It misbehaves in two ways: the first policy lookup hangs for ever, and it reports each request and each effect to its
 * parent and waits for its word, so that an agent can be killed right after its effect was made and before it hears of it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ledger } from './ledger.ts'
import { pointsOf } from './points.ts'
import { charges, customers, effects, orders, policies, type EffectPath } from './ticket.ts'

const ledger = new Ledger()
const reach = pointsOf(process)

const lookups: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  orders, customers, policies, 'payments/charges': charges,
}

/** The lookup that hangs, for ever, however often it is repeated: the first that asked for a policy. */
let hanging: string | undefined

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://world')
  if (url.pathname === '/ledger') return reply(response, 200, ledger.view())
  const effect = effects.find(({ path }) => path === url.pathname)
  if (!effect) return lookUp(request, response, url)
  const key = request.method === 'POST' ? header(request, 'idempotency-key') : (url.searchParams.get('key') ?? undefined)
  if (request.method === 'POST') return act(response, effect.path, effect.name, key)
  ledger.countQuestion()
  const receipt = ledger.find(effect.path, key)
  return reply(response, 200, { found: receipt ?? null })
}

async function act(response: ServerResponse, path: EffectPath, name: string, key: string | undefined): Promise<void> {
  const { lost } = await reach(`world: ${path} is on its way, nothing was done yet`)
  if (lost) return void response.destroy()
  ledger.countEffectRequest(path, key)
  const receipt = ledger.make(path, key)
  await reach(`world: ${path} took effect, its answer was not sent yet`, name)
  reply(response, 200, receipt)
}

async function lookUp(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const [service = '', id = ''] = url.pathname.slice(1).split(/\/(?=[^/]*$)/)
  const { lost } = await reach(`world: ${url.pathname} is asked for, not answered yet`)
  if (lost) return void response.destroy()
  ledger.countLookup()
  if (service === 'policies') {
    const step = header(request, 'x-step')
    hanging ??= step ?? ''
    if (step === hanging) return
  }
  const found = lookups[service]?.[id]
  reply(response, found ? 200 : 404, found ?? { error: `${url.pathname} is not known` })
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const server = createServer((request, response) => {
  // What a request says besides its path and key does not matter here, but it has to be read.
  request.resume()
  answer(request, response).catch((error: unknown) => reply(response, 500, { error: String(error) }))
})

function end(): void {
  server.close()
  server.closeAllConnections()
  if (process.connected) process.disconnect()
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: process.pid })}\n`)
})
process.once('SIGTERM', end).once('SIGINT', end).once('disconnect', end)
