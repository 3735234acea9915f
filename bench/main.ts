/**
 * `npm run bench`: what a step costs, as ratios within one run of this program (R17).
 *
 *   cost    ms a step, beside a raw append with fdatasync of the same bytes
 *   growth  the quickest of the last blocks of steps beside the quickest of the first: 1 is flat
 *   bytes   what the journal holds beside what the steps gave, under a system prompt of 100 KB
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { createRunner, defineAgent, memoryStore, sqliteStore, type Store } from '../src/index.ts'

const { values } = parseArgs({ options: { steps: { type: 'string', default: '2000' }, json: { type: 'boolean', default: false } } })
const STEPS = Number(values.steps)
const BLOCK = Math.max(1, Math.floor(STEPS / 40))
const payload = 'x'.repeat(1_000)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))

interface Row {
  readonly what: string
  readonly msPerStep: number
  readonly growth: number
  readonly bytesRatio?: number
}

/** Ms of each block of steps. */
function blocks(): { step: () => void; result: () => { msPerStep: number; growth: number } } {
  const times: number[] = []
  let count = 0
  let began = performance.now()
  return {
    step() {
      if (++count % BLOCK > 0) return
      times.push((performance.now() - began) / BLOCK)
      began = performance.now()
    },
    result: () => ({
      msPerStep: times.reduce((sum, t) => sum + t, 0) / times.length,
      growth: Math.min(...times.slice(-8)) / Math.min(...times.slice(0, 8)),
    }),
  }
}

async function steps(what: string, store: Store): Promise<Row[]> {
  let timer = blocks()
  let isReplay = false
  const agent = defineAgent('steps', async (run) => {
    for (let i = 0; i < STEPS; i++) {
      await run.step('work', { input: i }, () => payload)
      timer.step()
    }
    if (!isReplay) throw new Error('drive it again')
  })
  const runner = createRunner({ agents: [agent], store })
  await runner.run(agent, 1, { runId: 'steps' }).catch(() => {})
  const live = timer.result()
  isReplay = true
  timer = blocks()
  await runner.resume('steps')
  await runner.close()
  return [{ what: `${what}: step with effects`, ...live }, { what: `${what}: replayed`, ...timer.result() }]
}

/** Answers at once, and keeps nothing of what it was asked. */
const model: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'model',
  supportedUrls: {},
  doGenerate: async () => ({
    content: [{ type: 'text', text: payload }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
    warnings: [],
  }),
  doStream: () => Promise.reject(new Error('not streamed')),
}

/** A loop of the handler's own, whose conversation grows by two messages a step. */
async function requests(): Promise<Row> {
  const timer = blocks()
  const agent = defineAgent('requests', async (run) => {
    const durable = run.model(model)
    const prompt: Parameters<typeof durable.doGenerate>[0]['prompt'] = [{ role: 'system', content: 's'.repeat(100_000) }]
    for (let i = 0; i < STEPS; i++) {
      prompt.push({ role: 'user', content: [{ type: 'text', text: `question ${i}` }] })
      const { content } = await durable.doGenerate({ prompt: [...prompt] })
      prompt.push({ role: 'assistant', content: content.filter((part) => part.type === 'text') })
      timer.step()
    }
  })
  const store = memoryStore()
  await createRunner({ agents: [agent], store }).run(agent, 1, { runId: 'requests' })
  const bytes = (await store.read('requests')).reduce((sum, { body }) => sum + body.length, 0)
  return { what: 'memory: model request, 100 KB system prompt', ...timer.result(), bytesRatio: bytes / (STEPS * payload.length) }
}

function rawAppend(): Row {
  const timer = blocks()
  const file = openSync(join(folder, 'raw'), 'a')
  for (let i = 0; i < STEPS; i++) {
    writeSync(file, payload)
    fdatasyncSync(file)
    timer.step()
  }
  closeSync(file)
  return { what: 'raw append and fdatasync', ...timer.result() }
}

try {
  const raw = rawAppend()
  const rows = [raw, ...(await steps('sqlite', sqliteStore(join(folder, 'bench.db')))), ...(await steps('memory', memoryStore())), await requests()]
  if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`)
  else {
    process.stdout.write(`${STEPS} steps of 1 KB\n`)
    for (const { what, msPerStep, growth, bytesRatio } of rows) {
      const bytes = bytesRatio === undefined ? '' : `  ${bytesRatio.toFixed(2)} x the payload in the journal`
      process.stdout.write(`  ${what.padEnd(46)} ${msPerStep.toFixed(3).padStart(8)} ms  ${(msPerStep / raw.msPerStep).toFixed(1).padStart(6)} x raw  growth ${growth.toFixed(2)}${bytes}\n`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
