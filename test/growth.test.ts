/** What a run writes, hashes, looks at and keeps for a step follows the step, not the history (R17, F8). Counted, not timed. */
import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LanguageModelV4, LanguageModelV4Message } from '@ai-sdk/provider'
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../src/core/clock.ts'
import { createRunner, defineAgent, memoryStore, type Run, type Store } from '../src/index.ts'
import { testModel } from './support/model.ts'

const payload = 'x'.repeat(1_000)
const system: LanguageModelV4Message = { role: 'system', content: 's'.repeat(100_000) }
const user = (text: string): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })

/** A clock that stands, so that the durations in records have one length. */
const clock = { ...systemClock, now: () => 1_800_000_000_000 }

async function inRun(handler: (run: Run) => Promise<unknown>, store: Store = memoryStore()): Promise<void> {
  const agent = defineAgent('a', async (run) => void (await handler(run)))
  expect(await createRunner({ agents: [agent], store, clock }).run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed' })
}

/** A memory store that counts what is appended. */
function countingStore(): { readonly store: Store; readonly written: () => number } {
  const store = memoryStore()
  let written = 0
  const append: Store['append'] = async (runId, batch) => {
    for (const { body } of batch.entries) written += body.length
    return store.append(runId, batch)
  }
  return { store: { ...store, append }, written: () => written }
}

/** Characters that go through a hash while `work` runs. */
async function countingHashes(work: (hashed: () => number) => Promise<unknown>): Promise<void> {
  const prototype = Object.getPrototypeOf(createHash('sha256')) as { update: (data: string) => unknown }
  const { update } = prototype
  let hashed = 0
  prototype.update = function (data: string) {
    hashed += data.length
    return update.call(this, data)
  }
  await work(() => hashed).finally(() => {
    prototype.update = update
  })
}

/** What each of these steps added to the counts. */
function perStep(count: () => number): { readonly note: () => void; readonly of: (step: number) => number } {
  const seen = [count()]
  return { note: () => seen.push(count()), of: (step) => seen[step + 1]! - seen[step]! }
}

/** A loop of the handler's own whose conversation grows by two messages a step. */
async function requests(run: Run, steps: number, done: () => void): Promise<void> {
  const model = run.model(testModel(() => ({ text: payload })))
  const prompt = [system]
  for (let i = 0; i < steps; i++) {
    prompt.push(user(`question ${String(i).padStart(4, '0')}`))
    const { content } = await model.doGenerate({ prompt: [...prompt] })
    prompt.push({ role: 'assistant', content: content.filter((part) => part.type === 'text') })
    done()
  }
}

describe('a request under a long conversation', () => {
  it('is hashed and written as one under a short conversation, and 500 of 1 KB write at most twice as much (F8)', async () => {
    const { store, written } = countingStore()
    await countingHashes(async (hashed) => {
      const [bytes, characters] = [perStep(written), perStep(hashed)]
      await inRun((run) => requests(run, 1_000, () => (bytes.note(), characters.note())), store)
      // From 501 on numbers of steps and messages have as many digits as at the end.
      expect([bytes.of(950), characters.of(950)]).toEqual([bytes.of(550), characters.of(550)])
      expect(characters.of(950)).toBeLessThan(10 * payload.length)
      const first = Array.from({ length: 500 }, (_, step) => bytes.of(step)).reduce((sum, n) => sum + n)
      expect(first / (500 * payload.length)).toBeLessThan(2)
    })
  })

  it('looks at each message once, and at what is new a few times more', async () => {
    let looks = 0
    let turn = 0
    /** Counts while it belongs to the request that is being made. */
    const counted = (message: LanguageModelV4Message): LanguageModelV4Message => {
      const made = turn
      return Object.defineProperty({ ...message }, 'role', { enumerable: true, get: () => (made === turn && looks++, message.role) })
    }
    await inRun(async (run) => {
      const answering = testModel(() => ({ text: 'ok' }))
      const model: LanguageModelV4 = run.model<LanguageModelV4>({ ...answering, doGenerate: () => answering.doGenerate({ prompt: [] }) })
      const messages = Array.from({ length: 400 }, (_, i) => user(`question ${i}`))
      for (let length = 2; length <= messages.length; length += 2) {
        [looks, turn] = [0, length]
        await model.doGenerate({ prompt: messages.slice(0, length).map(counted) })
        expect(looks).toBeLessThanOrEqual(length + 20)
      }
    })
  })

  it('has a record in generateText that is as long after sixty turns as after ten', async () => {
    const lastRecord = async (turns: number): Promise<number> => {
      const model = testModel((turn) => (turn < turns ? { calls: [{ id: `call-${String(turn).padStart(3, '0')}`, tool: 'look', input: { at: payload } }] } : { text: 'done' }))
      const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async () => payload })
      const store = memoryStore()
      await inRun((run) => generateText({ model: run.model(model), tools: run.tools({ look }, { look: { readOnly: true } }), prompt: 'go', stopWhen: stepCountIs(turns + 1) }), store)
      return (await store.read('r')).findLast(({ body }) => /"step-ended".*"kind":"model"/.test(body))!.body.length
    }
    const [few, many] = [await lastRecord(10), await lastRecord(60)]
    expect(many).toBeLessThan(few + 20)
  })
})

describe('a tool call under a long conversation', () => {
  it('is hashed and written as one under a short conversation, and its messages are not looked at', async () => {
    const { store, written } = countingStore()
    let looks = 0
    const messages = Array.from({ length: 1_000 }, (_, i) => ({ role: 'user' as const, get content() { return looks++, `question ${i}` } }))
    await countingHashes(async (hashed) => {
      const [bytes, characters, looked] = [perStep(written), perStep(hashed), perStep(() => looks)]
      await inRun(async (run) => {
        const model = run.model(testModel((turn) => ({ calls: [{ id: `call-${turn}`, tool: 'look', input: {} }] })))
        const { look } = run.tools({ look: { execute: async (_input: object, _call: object) => payload } })
        const prompt = [user('go')]
        for (let i = 0; i < 600; i++) {
          const { content } = await model.doGenerate({ prompt: [...prompt], tools: [{ type: 'function', name: 'look', inputSchema: {} }] })
          const output = await look.execute({}, { toolCallId: `call-${i}`, messages })
          const calls = content.flatMap((part) => (part.type === 'tool-call' ? [{ ...part, input: {} }] : []))
          prompt.push({ role: 'assistant', content: calls }, { role: 'tool', content: [{ type: 'tool-result', toolCallId: `call-${i}`, toolName: 'look', output: { type: 'text', value: output } }] })
          for (const { note } of [bytes, characters, looked]) note()
        }
      }, store)
      expect([bytes.of(590), characters.of(590), looked.of(590)]).toEqual([bytes.of(510), characters.of(510), 0])
    })
  })
})

describe('what a run keeps of its steps', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void

  /** How many of these are still kept. */
  async function kept(refs: readonly WeakRef<object>[]): Promise<number> {
    await systemClock.idle()
    collect()
    return refs.filter((ref) => ref.deref() !== undefined).length
  }

  it('is not the messages of its tool calls', async () => {
    const refs: WeakRef<object>[] = []
    await inRun(async (run) => {
      const { look } = run.tools({ look: { execute: async (_input: object, _call: object) => 'seen' } })
      for (let i = 0; i < 50; i++) {
        const messages = [{ role: 'user', content: `question ${i}` }]
        refs.push(new WeakRef(messages))
        await look.execute({ at: i }, { toolCallId: `call-${i}`, messages })
      }
      expect(await kept(refs)).toBeLessThan(5)
    })
  })

  it('is not the prompts of branches that have ended, and of one that goes on each message once', async () => {
    const refs: WeakRef<object>[] = []
    await inRun(async (run) => {
      const model = run.model(testModel(() => ({ text: 'ok' })))
      model.requests.length = 0
      const ask = async (texts: readonly string[]): Promise<void> => {
        const messages = texts.map(user)
        refs.push(...messages.map((message) => new WeakRef(message)))
        await model.doGenerate({ prompt: messages })
        model.requests.length = 0
      }
      for (let i = 0; i < 100; i++) await run.branch(`b${i}`, () => ask([`question ${i}`]))
      expect(await kept(refs)).toBeLessThan(40)
      refs.length = 0
      for (let length = 1; length <= 20; length++) await ask(Array.from({ length }, (_, i) => `question ${i}`))
      expect(await kept(refs)).toBeLessThan(60)
    })
  })
})
