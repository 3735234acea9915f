// A run from the installed package, without the AI SDK: stopped by a failure, resumed, its recorded result returned.
import assert from 'node:assert/strict'
import { createRunner, defineAgent, memoryStore, sqliteStore } from 'holdfast'
import { conversation, startModelServerProcess } from 'holdfast/testing'

for (const store of [memoryStore(), sqliteStore(process.argv[2])]) {
  let calls = 0
  let broken = true
  const agent = defineAgent('smoke', async (run, input) => {
    const at = await run.step('first', () => { calls++; return new Date(input.at) })
    if (broken) throw new Error('broken')
    return { at, second: await run.read('second', () => calls) }
  })
  const runner = createRunner({ agents: [agent], store })
  await assert.rejects(runner.run(agent, { at: 5 }, { runId: 'run-1' }))
  broken = false
  const resumed = await runner.resume('run-1')
  assert.deepEqual(resumed, { status: 'completed', result: { at: new Date(5), second: 1 } })
  assert.deepEqual(await runner.run(agent, { at: 5 }, { runId: 'run-1' }), resumed)
  assert.equal(calls, 1)
  await runner.close()
}

const server = await startModelServerProcess({ conversations: [conversation('hello').user('Hello').assistant('Hi')] })
assert.deepEqual(await server.requests(), [])
await server.close()
