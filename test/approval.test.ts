/** Calls that were approved in the messages of a conversation (R1). */
import { generateText, stepCountIs, streamText, tool, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durableTools, memoryStore, type Run } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

describe('calls approved in the messages', () => {
  it('run once each, although they share tool and arguments, and replay', async () => {
    const model = testModel(() => ({ text: 'done' }))
    const sent: string[] = []
    const messages: ModelMessage[] = [
      { role: 'user', content: 'send twice' },
      { role: 'assistant', content: ['a', 'b'].flatMap((id) => [
        { type: 'tool-call' as const, toolCallId: id, toolName: 'send', input: { to: 'ann' } },
        { type: 'tool-approval-request' as const, approvalId: `approval-${id}`, toolCallId: id },
      ]) },
      { role: 'tool', content: ['a', 'b'].map((id) => ({ type: 'tool-approval-response' as const, approvalId: `approval-${id}`, approved: true })) },
    ]
    let failed = false
    const warnings: string[] = []
    const agent = defineAgent('a', async (run) => {
      const send = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: true, execute: async ({ to }) => sent.push(to) })
      const { text } = await generateText({ model: run.model(model), tools: run.tools({ send }), messages, stopWhen: stepCountIs(3) })
      if (!failed) {
        failed = true
        throw new Error('later')
      }
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect(sent).toEqual(['ann', 'ann'])
    expect(model.requests).toHaveLength(1)
    expect(warnings).toEqual([])
    const ids = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' && entry.step.kind === 'tool' ? [entry.step.id] : []))
    expect(ids.toSorted()).toEqual(['p:approval-a', 'p:approval-b'])
  })
})

describe('one approval that two loops of a run find in their messages', () => {
  const messages = (to: string): ModelMessage[] => [
    { role: 'user', content: 'pay' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'pay', input: { to } }, { type: 'tool-approval-request', approvalId: 'once', toolCallId: 'c' }] },
    { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'once', approved: true }] },
  ]

  /** Each loop gives what the model was told of the call. */
  function desk(handler: (loop: (branch: string, to?: string) => Promise<string>) => Promise<unknown>, fail: () => void = () => {}) {
    const paid: string[] = []
    const agent = defineAgent('a', (run) => handler((branch, to = 'ann') => run.branch(branch, async () => {
      const model = testModel((_turn, call) => ({ text: JSON.stringify(call.prompt.flatMap((m) => (m.role === 'tool' ? m.content : [])).flatMap((part) => ('output' in part ? [part.output] : []))) }))
      const pay = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: true, execute: async ({ to }) => {
        paid.push(to)
        fail()
        return `paid ${paid.length}`
      } })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }), messages: messages(to), stopWhen: stepCountIs(3) })).text
    })))
    return { paid, agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }) }
  }

  it.each([
    ['side by side', (loop: (branch: string) => Promise<string>) => Promise.all([loop('x'), loop('y')])],
    ['one after the other', async (loop: (branch: string) => Promise<string>) => [await loop('x'), await loop('y')]],
  ])('lets one call run, %s: both are told what came of it', async (_, handler) => {
    const { paid, agent, runner } = desk(handler)
    const { result } = (await runner.run(agent, 1, { runId: 'r' })) as { result: string[] }
    expect(paid).toEqual(['ann'])
    expect(result[0]).toContain('paid 1')
    expect(result[1]).toBe(result[0])
  })

  it('holds the other back while nobody knows whether it took effect', async () => {
    const { paid, agent, runner } = desk(async (loop) => [await loop('x'), await loop('y')], () => {
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: 'b:y#0/p:once', effects: ['b:x#0/p:once'] }] })
    expect(paid).toEqual(['ann'])
  })
})

describe('one approval id that stands for two calls', () => {
  const messages = (to: string): ModelMessage[] => [
    { role: 'user', content: `pay ${to}` },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'pay', input: { to } }, { type: 'tool-approval-request', approvalId: 'approval-1', toolCallId: 'c' }] },
    { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'approval-1', approved: true }] },
  ]

  function desk(handler: (run: Run, pay: (to: string) => Promise<string>) => Promise<unknown>) {
    const paid: string[] = []
    const agent = defineAgent('a', (run) => handler(run, async (to) => {
      const model = testModel((_turn, call) => ({ text: JSON.stringify(call.prompt.flatMap((m) => (m.role === 'tool' ? m.content : [])).flatMap((part) => ('output' in part ? [part.output] : []))) }))
      const pay = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: true, execute: async (input) => (paid.push(input.to), `receipt of ${input.to}`) })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }), messages: messages(to), stopWhen: stepCountIs(3) })).text
    }))
    return { paid, agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }) }
  }

  it('makes both, in conversations of their own that count their approvals alike', async () => {
    const { paid, agent, runner } = desk((run, pay) => Promise.all(['ann', 'bob'].map((to) => run.branch(to, () => pay(to)))))
    const outcome = await runner.run(agent, 1, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed', result: [expect.stringContaining('receipt of ann'), expect.stringContaining('receipt of bob')] })
    expect(paid.toSorted()).toEqual(['ann', 'bob'])
  })

  it('makes both, one after the other in one branch, and replays them in whatever order they are asked for', async () => {
    const fail = failingOnce()
    let [first, second] = ['ann', 'bob']
    const { paid, agent, runner } = desk(async (_run, pay) => {
      const told = [await pay(first!), await pay(second!)]
      fail()
      return told.toSorted()
    })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    ;[first, second] = [second, first]
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringContaining('receipt of ann'), expect.stringContaining('receipt of bob')] })
    expect(paid).toEqual(['ann', 'bob'])
  })

  it('asks about the second where the first is not asked for any more, and gives it no receipt of that', async () => {
    const fail = failingOnce()
    let to = 'ann'
    const { paid, agent, runner } = desk(async (_run, pay) => {
      const told = await pay(to)
      fail()
      return told
    })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    to = 'bob'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(paid).toEqual(['ann'])
    expect(await runner.resolve('r', waitingIn(await runner.resume('r')), 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: expect.stringContaining('receipt of bob') })
    expect(paid).toEqual(['ann', 'bob'])
  })
})

describe('a tool whose needsApproval would say otherwise once its effect was made', () => {
  /** Refunds up to 1000 need nobody. The handler fails the first time, behind its loop. */
  function refunding({ loop = 'generateText', fails = () => {} }: { loop?: 'generateText' | 'streamText'; fails?: () => void } = {}) {
    const [refunds, asked]: [number[], string[]] = [[], []]
    let drives = 0
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { amount: 800 } }] } : { text: 'done' }))
    const refund = tool({
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: ({ amount }, { toolCallId }) => {
        asked.push(toolCallId)
        return refunds.reduce((sum, each) => sum + each, 0) + amount > 1000
      },
      execute: async ({ amount }) => {
        refunds.push(amount)
        fails()
        return 'refunded'
      },
    })
    const agent = defineAgent('a', async (run) => {
      const asks = { model: run.model(model), tools: run.tools({ refund }), prompt: 'refund', stopWhen: stepCountIs(4) }
      const result = loop === 'generateText' ? await generateText(asks) : streamText(asks)
      const content = (await result.steps).flatMap((step) => step.content).map((part) => part.type)
      if (++drives === 1) throw new Error('later')
      return content
    })
    return { refunds, asked, agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }) }
  }

  it.each(['generateText', 'streamText'] as const)('replays what was made, and asks for approval again of what was not, in %s', async (loop) => {
    const { refunds, asked, agent, runner } = refunding({ loop })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(refunds).toEqual([800])
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: ['tool-call', 'tool-result', 'tool-call', 'tool-approval-request'] })
    expect(refunds).toEqual([800])
    expect(asked).toEqual(['c0', 'c1'])
  })

  it('leaves what was started, and may have been made, to whoever settles the doubt', async () => {
    const store = memoryStore()
    const { refunds, agent } = refunding()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c0' }] })
    expect(refunds).toEqual([800])
  })

  it.each(['generateText', 'streamText'] as const)('asks for approval again where it did, and the call was made upon that in the same run, in %s', async (loop) => {
    const sent: string[] = []
    let drives = 0
    const model = testModel((_turn, call) => (call.prompt.some((m) => m.role === 'tool') ? { text: 'done' } : { calls: [{ id: 'c', tool: 'send', input: { to: 'ann' } }] }))
    const send = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: ({ to }) => !sent.includes(to), execute: async ({ to }) => sent.push(to) })
    const agent = defineAgent('a', async (run) => {
      const messages: ModelMessage[] = [{ role: 'user', content: 'send' }]
      const turn = async () => {
        const asks = { model: run.model(model), tools: run.tools({ send }), messages, stopWhen: stepCountIs(3) }
        const result = loop === 'generateText' ? await generateText(asks) : streamText(asks)
        return { text: await result.text, content: await result.content, added: (await result.response).messages }
      }
      const first = await turn()
      const { approvalId } = first.content.find((part) => part.type === 'tool-approval-request')!
      messages.push(...first.added, { role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: true }] })
      const { text } = await turn()
      if (++drives === 1) throw new Error('later')
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect(sent).toEqual(['ann'])
    expect(model.requests).toHaveLength(2)
  })

  it('is asked as ever outside of a run', async () => {
    const { needsApproval } = durableTools({ act: tool({ inputSchema: z.object({ n: z.number() }), needsApproval: ({ n }) => n > 1, execute: async () => 1 }) }).act
    if (typeof needsApproval !== 'function') throw new Error('it is a function')
    expect(await Promise.all([1, 2].map((n) => needsApproval({ n }, { toolCallId: 'c', messages: [], context: undefined } as never)))).toEqual([false, true])
  })
})
