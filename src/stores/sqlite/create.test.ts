import { linkSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFile } from './create.ts'
import { openFile } from './open.ts'

vi.mock(import('node:fs'), async (original) => {
  const fs = await original()
  return { ...fs, linkSync: vi.fn(fs.linkSync) }
})

/** What the next link answers, after `first` has happened. */
function nextLinkFails(code: string, first: () => void = () => undefined): void {
  vi.mocked(linkSync).mockImplementationOnce(() => {
    first()
    throw Object.assign(new Error(`${code}: link`), { code, errno: -1 })
  })
}

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  file = join(folder, 'runs.db')
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

describe('createFile', () => {
  it('leaves a file that another process created in the meantime as it is', () => {
    nextLinkFails('EEXIST', () => writeFileSync(file, 'theirs'))
    createFile(file)
    expect(readFileSync(file, 'utf8')).toBe('theirs')
    expect(readdirSync(folder)).toEqual(['runs.db'])
  })

  it('makes the file where there are no hard links', () => {
    nextLinkFails('EPERM')
    createFile(file)
    openFile(file, false).close()
    expect(readdirSync(folder)).toEqual(['runs.db'])
  })

  it('leaves a file that another process created in the meantime as it is also there', () => {
    nextLinkFails('EPERM', () => writeFileSync(file, 'theirs'))
    createFile(file)
    expect(readFileSync(file, 'utf8')).toBe('theirs')
  })
})
