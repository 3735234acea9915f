import { describe, it } from 'vitest'
import { storeConformance } from './conformance.ts'
import { memoryStore } from './memory.ts'

describe('the memory store', () => {
  for (const { name, run } of storeConformance(async () => ({ store: memoryStore() }))) it(name, run)
})
