import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { storeConformance } from './conformance.ts'
import { sqliteStore } from './sqlite.ts'

describe('the SQLite store', () => {
  const cases = storeConformance(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    const file = join(folder, 'runs.db')
    return {
      store: sqliteStore(file),
      another: async () => sqliteStore(file),
      cleanup: async () => rmSync(folder, { recursive: true }),
    }
  })
  for (const { name, run } of cases) it(name, run)
})
