import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { conversation } from './builder.ts'
import { startModelServerProcess } from './model-server-process.ts'
import type { ModelServerProcess } from './model-server-process.ts'

const greeting = conversation('greeting').user('Hi').assistant('Hello.')
const open: ModelServerProcess[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

const ask = (url: string): Promise<Response> =>
  fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }) })

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('the model server as a process of its own', () => {
  it('answers, counts, takes a plan, and ends when it is closed, a hanging request or not', async () => {
    const server = await startModelServerProcess({ conversations: [greeting], faults: [{ turn: 1, fault: { kind: 'status', status: 529 } }] })
    open.push(server)
    expect((await ask(server.url)).status).toBe(529)
    expect(await (await ask(server.url)).text()).toContain('Hello.')
    await server.setFaults([{ turn: 1, try: 3, fault: { kind: 'hang', after: 0 } }])
    const hanging = await ask(server.url)
    expect((await server.requests()).map((request) => [request.conversation, request.try, request.fault?.kind]))
      .toEqual([['greeting', 1, 'status'], ['greeting', 2, undefined], ['greeting', 3, 'hang']])
    expect(isAlive(server.pid)).toBe(true)
    await server.close()
    await expect(hanging.text()).rejects.toThrow()
    expect(isAlive(server.pid)).toBe(false)
  })

  it('refuses a wrong script before it starts a process', async () => {
    await expect(startModelServerProcess({ conversations: [] })).rejects.toThrow('conversations must hold at least one conversation')
  })

  it('says why it could not start', async () => {
    const first = await startModelServerProcess({ conversations: [greeting] })
    open.push(first)
    const port = Number(new URL(first.url).port)
    await expect(startModelServerProcess({ conversations: [greeting], port })).rejects.toThrow(/did not start: .*EADDRINUSE/)
  })

  it('names the file and the path of what is wrong in it, and fails', async () => {
    const main = fileURLToPath(new URL('./model-server-main.ts', import.meta.url))
    const child = spawn(process.execPath, [main, '--script', '-'])
    child.stdin.end('{"id":"a","messages":[{"role":"robot"}]}')
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    expect([code, complaint]).toEqual([1, expect.stringContaining('-: conversation.messages[0].role must be system')])
  })
})
