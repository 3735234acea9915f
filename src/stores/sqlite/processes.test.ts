/** What holds between processes, with real ones. */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../journal/store.ts'
import { sqliteStore } from '../sqlite.ts'
import { sqliteFileFaults } from './integrity.ts'

type Message = { readonly ready?: true; readonly done?: unknown; readonly failed?: string; readonly acknowledged?: number }

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'runs.db')
}

async function opened(file: string): Promise<Store> {
  const store = sqliteStore(file)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

async function startWriter(): Promise<ChildProcess> {
  const writer = fork(join(import.meta.dirname, 'writer.child.mjs'), { execArgv: [] })
  onTestFinished(() => void writer.kill('SIGKILL'))
  await once(writer, 'message')
  return writer
}

/** Gives an order and waits until it is carried out. */
async function ask(writer: ChildProcess, name: string, order: object): Promise<unknown> {
  writer.send({ name, ...order })
  const [message] = await once(writer, 'message') as [Message]
  if (message.failed) throw new Error(message.failed)
  return message.done
}

describe('two processes on one SQLite file', () => {
  it('may create it in the same moment', async () => {
    const writers = await Promise.all([startWriter(), startWriter()])
    for (let round = 1; round <= 20; round++) {
      const file = newFile()
      await Promise.all(writers.map((writer, index) => ask(writer, 'visit', { file, runId: `run-${index}` })))
      const store = await opened(file)
      expect((await store.list()).map((row) => row.runId)).toEqual(['run-0', 'run-1'])
      await store.close()
      expect(readdirSync(join(file, '..'))).toEqual(['runs.db'])
    }
  })

  it('write to ten runs at once: no busy error, nothing lost', async () => {
    const file = newFile()
    const writers = await Promise.all([startWriter(), startWriter()])
    const runIds = [['a1', 'a2', 'a3', 'a4', 'a5'], ['b1', 'b2', 'b3', 'b4', 'b5']]
    await Promise.all(writers.map((writer, index) => ask(writer, 'append', { file, runIds: runIds[index], count: 60 })))
    const store = await opened(file)
    for (const runId of runIds.flat()) {
      const journal = await store.read(runId)
      expect(journal.map(({ seq, body }) => [seq, body])).toEqual(Array.from({ length: 60 }, (_, n) => [n + 1, `${runId} ${n + 1}`]))
      expect((await store.inbox(runId, 0)).map((message) => message.body)).toEqual(['10', '20', '30', '40', '50', '60'])
    }
  })

  it('contend for the lease of one run: every token has one owner, every entry is there once', async () => {
    const file = newFile()
    const writers = await Promise.all([startWriter(), startWriter()])
    const won = await Promise.all(writers.map((writer, index) =>
      ask(writer, 'contend', { file, runId: 'a', contender: `process ${index}`, wins: 40 }))) as [number[], number[]]
    const store = await opened(file)
    const journal = await store.read('a')
    const expected = won.flatMap((tokens, index) => tokens.map((token) => [token, `${token} process ${index}`] as const))
      .toSorted(([one], [other]) => one - other)
    expect(new Set(won.flat()).size).toBe(80)
    expect(journal.map((entry) => entry.body)).toEqual(expected.map(([, body]) => body))
    expect(journal.map((entry) => entry.seq)).toEqual(Array.from({ length: 80 }, (_, n) => n + 1))
  })
})

describe('a process that writes much, through many checkpoints', () => {
  it('is in nobody\'s way: the file opens each time, to write and to read, and is whole', async () => {
    const file = newFile()
    const writer = await startWriter()
    await ask(writer, 'appendLarge', { file, runId: 'a' })
    let seen = 0
    for (let round = 1; round <= 300; round++) {
      // One batch a round, not as many as the disk takes: each look falls into a commit or a checkpoint, and the file has one size at the end.
      const written = ask(writer, 'appendLarge', { file, runId: 'a' })
      const store = sqliteStore(file, { create: false, readOnly: round % 2 === 0 })
      await store.open()
      const [row] = await store.list()
      expect(row?.lastSeq).toBeGreaterThanOrEqual(seen)
      seen = row?.lastSeq ?? 0
      await store.close()
      if (round % 60 === 0) expect(await sqliteFileFaults(file)).toEqual([])
      await written
    }
    expect(seen).toBeGreaterThanOrEqual(3 * 300) // 75 pages each, and a checkpoint is due every 1000
  })
})

describe('a process killed in mid-append', () => {
  it('leaves all that was acknowledged, no part of a batch, and a file that loads and goes on', async () => {
    const file = newFile()
    let acknowledged = 0
    for (const appends of [1, 2, 3, 5, 8]) {
      const victim = await startWriter()
      const ended = once(victim, 'exit')
      let left = appends
      victim.on('message', (message: Message) => {
        acknowledged = Math.max(acknowledged, message.acknowledged ?? 0)
        if (--left === 0) victim.kill('SIGKILL')
      })
      victim.send({ name: 'appendForEver', file, runId: 'a' })
      expect((await ended)[1]).toBe('SIGKILL')

      const store = await opened(file)
      const journal = await store.read('a')
      expect(journal.length).toBeGreaterThanOrEqual(acknowledged)
      expect(journal.length % 3).toBe(0)
      expect((await store.get('a'))?.lastSeq).toBe(journal.length)
      for (const [index, { seq, body }] of journal.entries()) {
        expect([seq, body.length]).toEqual([index + 1, `${seq} `.length + 100_000])
        expect(body.startsWith(`${seq} x`)).toBe(true)
      }
      await store.close()
    }
  })
})
