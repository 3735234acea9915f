import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)

it('the example of docs/testing.md runs and prints what the page says', async () => {
  const page = readFileSync(new URL('docs/testing.md', root), 'utf8')
  const [, code, output] = /```ts\n(.*?)```\n\nIt prints\n\n```text\n(.*?)```/s.exec(page) ?? []
  const program = code?.replace("'holdfast/testing'", JSON.stringify(new URL('./index.ts', import.meta.url).href)) ?? ''
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '-e', program], { cwd: fileURLToPath(root) })
  expect(stdout).toBe(output)
})
