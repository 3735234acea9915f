import { describe, expect, it } from 'vitest'
import { classifyError } from '../../src/reliability/classification/index.ts'
import { CLIENTS } from './clients.ts'
import { hydrate, throughJson } from './hydrate.ts'
import { now, VARIANTS } from './variants.ts'

/** What JSON cannot carry: a Headers object has no own properties, a getter that throws ends the serialisation. */
const NOT_JSON = ['ra pairs', 'throwing getter']

describe('errors beside the corpus', () => {
  for (const [what, shape, category, retryable, retryAfterMs = null, context] of [...VARIANTS, ...CLIENTS]) {
    const expected = { category, retryable, retryAfterMs }

    it(`classifies ${what}`, () => {
      const { evidence, ...got } = classifyError(hydrate(shape), { now, ...context })
      expect(got, `decided by ${evidence.rule}`).toEqual(expected)
    })

    it.skipIf(NOT_JSON.includes(what))(`classifies ${what} the same after it went through JSON`, () => {
      const { evidence, ...got } = classifyError(throughJson(hydrate(shape)), { now, ...context })
      expect(got, `decided by ${evidence.rule}`).toEqual(expected)
    })
  }
})
