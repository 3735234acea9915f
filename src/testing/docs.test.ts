import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const root = new URL('../../', import.meta.url)

it('the example of docs/testing.md runs and prints what the page says', async () => {
  const page = readFileSync(new URL('docs/testing.md', root), 'utf8')
  const [, code, output] = /```ts\n(.*?)```\n\nIt prints\n\n```text\n(.*?)```/s.exec(page) ?? []
  const program = code?.replace("'holdfast/testing'", JSON.stringify(new URL('./index.ts', import.meta.url).href)) ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'example.mts'), program)
  const { stdout } = await promisify(execFile)(process.execPath, ['example.mts'], { cwd: folder })
  expect(stdout).toBe(output)
})
