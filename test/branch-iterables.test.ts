/** What a branch returns to be read: a generator, a stream, an object with an iterator. Each read belongs to the branch (R1). */
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, durable, memoryStore, type Run } from '../src/index.ts'
import { endParts, streamingModel, textParts } from './support/streaming.ts'

async function drive<T>(handler: (run: Run) => Promise<T>): Promise<{ result: T; steps: string[] }> {
  const runner = createRunner({ agents: [defineAgent('a', handler)], store: memoryStore(), idleMs: 5, replayHoldMs: 20 })
  const outcome = await runner.run('a', {}, { runId: 'r' })
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
  const steps = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? entry.step.id : []))
  return { result: outcome.result as T, steps }
}

async function all<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const part of parts) seen.push(part)
  return seen
}

/** Pages behind a lock, which its `finally` gives back. */
const pagesOf = (run: Run) => async function* pages(): AsyncGenerator<number, void> {
  await run.step('lock', () => {})
  try {
    for (let i = 0; ; i++) yield await run.read('page', { input: i }, () => i)
  } finally {
    await run.step('unlock', () => {})
  }
}

describe('a generator out of a branch', () => {
  it('cleans up in its branch when its reader has had enough', async () => {
    const { result, steps } = await drive(async (run) => {
      for await (const page of await run.branch('pages', pagesOf(run))) if (page === 1) break
      return run.branch('pages', () => 'ended')
    })
    expect(result).toBe('ended')
    expect(steps).toEqual(['b:pages#0/0', 'b:pages#0/1', 'b:pages#0/2', 'b:pages#0/3'])
  })

  it('cleans up in its branch when its reader throws into it', async () => {
    const { result, steps } = await drive(async (run) => {
      const pages = await run.branch('pages', pagesOf(run))
      await pages.next()
      return pages.throw(new Error('enough')).catch((error: Error) => error.message)
    })
    expect(result).toBe('enough')
    expect(steps).toHaveLength(3)
  })

  it('cleans up in its branch when it is disposed of', async () => {
    const { result } = await drive(async (run) => {
      {
        await using pages = await run.branch('pages', pagesOf(run))
        await pages.next()
      }
      return run.branch('pages', () => 'ended')
    })
    expect(result).toBe('ended')
  })

  it('ends its branch when it throws: the same key opens the next one', async () => {
    const { result } = await drive(async (run) => {
      const seen: string[] = []
      for (let i = 0; i < 2; i++) {
        try {
          for await (const part of await run.branch('work', async function* () {
            yield await run.read('one', () => 1)
            throw new Error('flaky')
          })) seen.push(String(part))
        } catch (error) {
          seen.push((error as Error).message)
        }
      }
      return seen
    })
    expect(result).toEqual(['1', 'flaky', '1', 'flaky'])
  })

  it('leaves a later branch of its key alone when it is ended once more', async () => {
    await expect(drive(async (run) => {
      const pages = await run.branch('pages', pagesOf(run))
      await pages.return(undefined)
      await run.branch('pages', pagesOf(run))
      await pages.return(undefined)
      return run.branch('pages', () => 'open twice')
    })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
  })
})

describe('a stream out of a branch', () => {
  const words = streamingModel(() => [...textParts('one two three'), ...endParts])

  it.each<[string, (stream: ReadableStream<string> & AsyncIterable<string>) => Promise<string>]>([
    ['pipeThrough', async (stream) => (await all(stream.pipeThrough(new TransformStream<string, string>()))).join('')],
    ['a reader', async (stream) => {
      const reader = stream.getReader()
      let text = ''
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
      return text
    }],
    ['its iterator', async (stream) => (await all(stream)).join('')],
  ])('is one all the same: it is read by %s, and then the branch has ended', async (_what, read) => {
    const { result, steps } = await drive(async (run) => {
      const text = await read(await run.branch('x', () => streamText({ model: durable(words), prompt: 'p' }).textStream))
      await run.branch('x', () => run.read('again', () => 1))
      return text
    })
    expect(result).toBe('one two three')
    expect(steps).toEqual(['b:x#0/0', 'b:x#1/0'])
  })

  it('is cancelled in its branch, and gives its error to the reader', async () => {
    const { result, steps } = await drive(async (run) => {
      const cancelled = await run.branch('x', () => new ReadableStream<number>({ pull: (c) => c.enqueue(1), cancel: async () => { await run.step('release', () => {}) } }, { highWaterMark: 0 }))
      await cancelled.cancel()
      const failing = await run.branch('x', () => new ReadableStream<number>({ pull: (c) => c.error(new Error('torn')) }, { highWaterMark: 0 }))
      const error = await all(failing).catch((thrown: Error) => thrown.message)
      return [error, await run.branch('x', () => 'ended')]
    })
    expect(result).toEqual(['torn', 'ended'])
    expect(steps).toEqual(['b:x#0/0'])
  })
})

it('an object with an iterator keeps all that it has, called in the branch', async () => {
  class Answer {
    readonly #run: Run
    readonly model = 'm'
    constructor(run: Run) {
      this.#run = run
    }
    async *[Symbol.asyncIterator]() {
      yield await this.#run.read('part', () => 'a')
    }
    final() {
      return this.#run.read('final', () => 'b')
    }
  }
  const { result, steps } = await drive(async (run) => {
    const answer = await run.branch('x', () => new Answer(run))
    return [answer instanceof Answer, answer.model, await answer.final(), await all(answer)]
  })
  expect(result).toEqual([true, 'm', 'b', ['a']])
  expect(steps).toEqual(['b:x#0/0', 'b:x#0/1'])
})
