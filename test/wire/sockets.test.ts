/** What Node's sockets say by themselves, without HTTP (A8): for a custom model, or a tool that speaks a protocol of its own. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { roundTrip } from '../../src/journal/codec.ts'
import { classifyError } from '../../src/reliability/index.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback, Reply } from './loopback.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

const portOf = (url: string): number => Number(new URL(url).port)

/** Rejects with what the socket says; resolves with what it got where it just ended. */
const talk = (socket: Socket, path = '/'): Promise<string> => new Promise((resolve, reject) => {
  let got = ''
  socket.setEncoding('utf8').on('data', (more: string) => { got += more }).on('error', reject).on('close', () => resolve(got))
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
})
const ask = (reply: Reply): Promise<string> => {
  const { url } = server.at(reply)
  return talk(connect(portOf(url), '127.0.0.1'), `${new URL(url).pathname}/`)
}

describe('a socket', () => {
  it.for<[string, () => Promise<unknown>]>([
    ['that nobody listens to', () => talk(connect(portOf(server.closedUrl), '127.0.0.1'))],
    ['of a host that is unknown', () => talk(connect(80, 'no..where.invalid'))],
    ['that is reset before an answer', () => ask({ instead: 'reset' })],
    ['that is reset in an answer', () => ask({ body: ['{'], end: 'reset' })],
    ['that speaks no TLS', () => talk(connectTls(portOf(server.at({}).url), '127.0.0.1'))],
  ])('%s', async ([, fail], { expect }) => {
    const error = await fail().catch((thrown: unknown) => thrown)
    for (const value of [error, roundTrip(error)]) expect(classifyError(value), String(error)).toMatchObject({ category: 'network', retryable: true })
  })
})
