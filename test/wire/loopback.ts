/** An HTTP server on the loopback that says what it is told to, broken off wherever it is told to. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What a request is answered with. */
export interface Reply {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** What is sent of the body, a packet each. Default: nothing. */
  readonly body?: readonly (string | Uint8Array)[]
  /**
   * How it ends. `end` (default): as HTTP wants it; `cut`: the connection is closed without the body's end; `reset`: it is reset;
   * `hang`: nothing more comes.
   */
  readonly end?: 'end' | 'cut' | 'reset' | 'hang'
  /** Instead of all that: nothing is said before the connection ends like this, or garbage is. */
  readonly instead?: 'cut' | 'reset' | 'hang' | 'garbage'
}

export interface Loopback {
  /** Base URL under which requests get `replies`, one after another, and the last one for ever. */
  at(...replies: readonly Reply[]): { readonly url: string; readonly requests: () => number }
  /** An address where nobody listens. */
  readonly closedUrl: string
  close(): Promise<void>
}

/** Long enough for what was sent before a reset to be read: a reset takes what is still unread with it. */
const BEFORE_RESET_MS = 25

export async function startLoopback(): Promise<Loopback> {
  const places: { readonly replies: readonly Reply[]; asked: number }[] = []
  const server = createServer({ keepAliveTimeout: 100 }, (request, response) => {
    const place = places[Number(request.url?.split('/')[1])]
    const reply = place?.replies[Math.min(place.asked++, place.replies.length - 1)]
    // A reset while the client still sends would be an EPIPE on some machines.
    request.resume().on('end', () => void (reply ? answer(reply, response) : response.writeHead(404).end()))
    request.on('error', () => {})
    response.on('error', () => {})
  })
  const closed = createServer()
  const port = await listen(server)
  const closedPort = await listen(closed)
  await new Promise((resolve) => closed.close(resolve))
  return {
    at(...replies) {
      const place = { replies, asked: 0 }
      places.push(place)
      return { url: `http://127.0.0.1:${port}/${places.length - 1}`, requests: () => place.asked }
    },
    closedUrl: `http://127.0.0.1:${closedPort}`,
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

const listen = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

async function answer({ status = 200, headers = {}, body = [], end = 'end', instead }: Reply, response: ServerResponse): Promise<void> {
  const { socket } = response
  if (!socket) return
  if (instead === 'garbage') return void socket.end('SSH-2.0-OpenSSH_9.6\r\n')
  if (instead) return finish(instead, socket)
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.flushHeaders()
  for (const packet of body) await new Promise<void>((resolve) => response.write(packet, () => resolve()))
  if (end === 'end') return void response.end()
  if (end === 'reset') await new Promise((resolve) => setTimeout(resolve, BEFORE_RESET_MS))
  finish(end, socket)
}

function finish(how: 'cut' | 'reset' | 'hang', socket: Socket): void {
  if (how === 'cut') socket.end()
  if (how === 'reset') socket.resetAndDestroy()
}
