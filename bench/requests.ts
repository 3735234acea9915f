/** Model requests under a system prompt of 100 KB, in a loop of the handler's own and in those of the AI SDK. */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run } from '../src/index.ts'
import { Blocks, BLOCKS, type Row } from './blocks.ts'
import { benchModel } from './model.ts'

const payload = 'x'.repeat(1_000)
const system = 's'.repeat(100_000)

/** Drives the loop in a run, and gives its row. */
async function inRun(what: string, steps: number, loop: (run: Run, blocks: Blocks) => Promise<unknown>, beside: Pick<Row, 'plain' | 'sent'>): Promise<Row> {
  const blocks = new Blocks(steps)
  const agent = defineAgent('requests', async (run) => void (await loop(run, blocks)))
  const store = memoryStore()
  await createRunner({ agents: [agent], store }).run(agent, 1, { runId: 'run' })
  const bytes = (await store.read('run')).reduce((sum, { body }) => sum + body.length, 0)
  return blocks.row(what, { bytesRatio: bytes / (steps * payload.length), ...beside })
}

/** The conversation grows by two messages a step; its messages stay the same objects. */
export const ownLoop = (steps: number): Promise<Row> =>
  inRun('model request, own loop', steps, async (run, blocks) => {
    const model = run.model(benchModel(() => payload))
    const prompt: Parameters<typeof model.doGenerate>[0]['prompt'] = [{ role: 'system', content: system }]
    for (let i = 0; i < steps; i++) {
      prompt.push({ role: 'user', content: [{ type: 'text', text: `question ${i}` }] })
      const { content } = await model.doGenerate({ prompt: [...prompt] })
      prompt.push({ role: 'assistant', content: content.filter((part) => part.type === 'text') })
      blocks.step()
    }
  }, { sent: asJson(steps) })

/** The first and the last requests of that loop as JSON. */
function asJson(steps: number): Row {
  const messages = (count: number): object[] => [{ role: 'system', content: system }, ...Array.from({ length: count }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: [{ type: 'text', text: i % 2 ? payload : `question ${i}` }] }))]
  const ms = (count: number): number => {
    const prompt = messages(count)
    const times = Array.from({ length: 5 }, () => {
      const began = process.cpuUsage()
      JSON.stringify(prompt)
      const { user, system } = process.cpuUsage(began)
      return (user + system) / 1_000
    })
    return Math.min(...times)
  }
  const [first, middle, last] = [steps / BLOCKS, steps, 2 * steps].map(ms)
  return { what: '    such a request as JSON', msPerStep: middle!, first: first!, last: last! }
}

const LOOPS = {
  'generateText': async (options: Parameters<typeof generateText>[0]) => void (await generateText(options)),
  'streamText': async (options: Parameters<typeof streamText>[0]) => streamText(options).consumeStream(),
} as const

/** Each response asks for a tool, whose result is the step's payload; beside it the same loop on the plain model and tool. */
export async function sdkLoop(name: keyof typeof LOOPS, steps: number, { readOnly }: { readonly readOnly: boolean }): Promise<Row> {
  const loop = (blocks: Blocks, run?: Run): Promise<void> => {
    const model = benchModel((request) => (request < steps ? { at: request } : 'done'))
    const look = tool({ inputSchema: z.object({ at: z.number() }), execute: async () => payload })
    return LOOPS[name]({
      model: run ? run.model(model) : model,
      tools: run ? run.tools({ look }, { look: { readOnly } }) : { look },
      instructions: system,
      prompt: 'go',
      stopWhen: stepCountIs(steps + 1),
      onStepEnd: () => blocks.step(),
    })
  }
  const plain = new Blocks(steps)
  await loop(plain)
  return inRun(`${name}, ${readOnly ? 'read-only tool' : 'tool with effects'}`, steps, (run, blocks) => loop(blocks, run), { plain: plain.row(`${name}, plain`) })
}
