/** Sends what {@link WireAction}s say over a real socket. */
import type { ServerResponse } from 'node:http'
import { sleep, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { WireAction } from './wire.ts'

/** A client that gets a reset may throw away what it has received but not yet read: it is given this moment to read. */
const RESET_PAUSE_MS = 40

/** Returns when all is done or the client has gone. `clock` is for `wait` only. */
export async function perform(response: ServerResponse, actions: readonly WireAction[], clock: Clock): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  for (const action of actions) {
    if (gone.signal.aborted) return
    switch (action.do) {
      case 'head':
        response.writeHead(action.status, action.headers).flushHeaders()
        break
      case 'write':
        await written(response, action.text)
        break
      case 'wait':
        await sleep(clock, action.ms, gone.signal).catch(() => undefined)
        break
      case 'end':
        response.end()
        return
      case 'reset':
        if (response.headersSent) await sleep(systemClock, RESET_PAUSE_MS)
        response.socket?.resetAndDestroy()
        return
      case 'hang':
        return
    }
  }
}

/** Waits until the text has been handed to the system, so that chunks travel one by one. */
function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((done) => {
    response.once('close', done)
    response.write(text, () => {
      response.off('close', done)
      done()
    })
  })
}
