/** A process that is killed while it writes: the log of the SQLite file ends at any byte (F2). */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entries, newRun, T0 } from '../../src/stores/conformance/sample.ts'
import { sqliteStore } from '../../src/stores/sqlite.ts'
import { Violation } from './violation.ts'

export interface Written {
  readonly file: Buffer
  readonly log: Buffer
  /** Where the log ended after each commit, and how many entries there were by then. */
  readonly commits: readonly { readonly end: number; readonly entries: number }[]
}

/** A small run, commit by commit. */
export async function written(): Promise<Written> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cut-'))
  const path = join(folder, 'runs.db')
  const store = sqliteStore(path)
  try {
    await store.open()
    const file = readFileSync(path)
    const commits: { end: number; entries: number }[] = [{ end: 0, entries: 0 }]
    const note = (count: number): void => void commits.push({ end: statSync(`${path}-wal`).size, entries: count })
    await store.create(newRun('a', { entries: entries(1, 1) }))
    note(1)
    for (let seq = 2; seq < 6; seq++) {
      await store.append('a', { token: 0, entries: entries(seq, seq), now: T0 })
      note(seq)
    }
    return { file, log: readFileSync(`${path}-wal`), commits }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

/** Loads what is there when the log ends at each of these bytes: the last commit that is whole, and nothing else. @throws Violation. */
export async function judgeCuts({ file, log, commits }: Written, ends: Iterable<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cut-'))
  const path = join(folder, 'runs.db')
  const whole = join(folder, 'whole')
  writeFileSync(whole, file)
  let count = 0
  try {
    for (const end of ends) {
      rmSync(`${path}-shm`, { force: true })
      copyFileSync(whole, path)
      writeFileSync(`${path}-wal`, log.subarray(0, end))
      const store = sqliteStore(path)
      await store.open()
      const found = (await store.read('a')).length
      await store.close()
      const expected = commits.findLast((commit) => commit.end <= end)!.entries
      if (found !== expected) throw new Violation(`the log ends at byte ${end}: ${found} entries, not ${expected}`)
      count++
    }
    return count
  } finally {
    rmSync(folder, { recursive: true })
  }
}
