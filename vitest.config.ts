/**
 * Test files share the modules of their worker: to load them anew for each file takes longer than most files do. A file that replaces modules,
 * or loads them anew, has a worker of its own.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const files = ['src', 'test'].flatMap((folder) => readdirSync(new URL(folder, import.meta.url), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name).replaceAll('\\', '/')))
const alone = files.filter((file) => file.endsWith('.test.ts') && /\bvi\.(mock|doMock|resetModules)\(/.test(readFileSync(new URL(file, import.meta.url), 'utf8')))

export default defineConfig({
  test: {
    pool: 'forks',
    // Many wait for processes that they start: by default one processor is left free.
    maxWorkers: '100%',
    // Only to end what hangs: machines differ much in speed.
    testTimeout: 60_000,
    // A run that a test let die loses its lease half a minute later, in the middle of another test: nobody waits for it any more.
    onUnhandledError: (error) => (error as { code?: unknown }).code !== 'LEASE_LOST',
    projects: [
      { extends: true, test: { name: 'shared', isolate: false, include: ['src/**/*.test.ts', 'test/**/*.test.ts'], exclude: alone } },
      { extends: true, test: { name: 'alone', isolate: true, include: alone } },
    ],
  },
})
