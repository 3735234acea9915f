/** A store is kept in one way: under keys that can all be given, or in the clear. What would mix them is refused before it is written. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRunner, defineAgent, type Outcome, type Store } from '../src/index.ts'
import { encryptedStore, type EncryptionOptions } from '../src/stores/encrypted.ts'
import { STORES, type Place } from './support/stores.ts'

const [A, B] = [randomBytes(32), randomBytes(32)]
const agent = defineAgent('a', (run) => run.step('work', () => 1))

describe.each(STORES)('in a $kind store', ({ make }) => {
  let place: Place
  beforeEach(() => void (place = make()))
  afterEach(() => place.cleanup())

  const under = (options?: EncryptionOptions): Store => (options ? encryptedStore(place.open(), options) : place.open())
  async function started(runId: string, options?: EncryptionOptions): Promise<Outcome> {
    const runner = createRunner({ agents: [agent], store: under(options) })
    try {
      return await runner.run(agent, {}, { runId })
    } finally {
      await runner.close()
    }
  }
  const underA = { keys: { a: A }, current: 'a' }

  it.each<[string, EncryptionOptions | undefined, EncryptionOptions | undefined, string, RegExp]>([
    ['under another key of the same id', underA, { keys: { a: B }, current: 'a' }, 'KEY_WRONG', /no run can be started in this store: entry \d+ of run "first" is encrypted with another key "a".* an id of its own$/],
    ['in the clear, where runs are encrypted', underA, undefined, 'KEY_MISSING', /are encrypted, and a new one would stand in it in the clear. Open it with encryptedStore/],
    ['encrypted, where runs are in the clear', undefined, underA, 'STORE_NOT_ENCRYPTED', /no run can be started in this store: entry \d+ of run "first" is not encrypted. A store that was begun without encryption stays so/],
  ])('no run is started %s', async (_, first, second, code, message) => {
    await started('first', first)
    for (let i = 0; i < 2; i++) await expect(started('second', second)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    const store = under(first)
    await store.open()
    expect((await store.list()).map(({ runId }) => runId)).toEqual(['first'])
    await store.close()
    expect(await started('second', first)).toMatchObject({ status: 'completed' })
  })

  it('runs are started after a rotation, also where the old key is not given any more', async () => {
    await started('first', underA)
    expect(await started('second', { keys: { a: A, b: B }, current: 'b' })).toMatchObject({ status: 'completed' })
    expect(await started('third', { keys: { b: B }, current: 'b' })).toMatchObject({ status: 'completed' })
  })
})
