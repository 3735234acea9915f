/** The checks that are one command each. */
import { expectSuccess } from './command.ts'
import { OXLINT, TSC, VITEST } from './project.ts'

export async function types(): Promise<string> {
  await expectSuccess(process.execPath, [TSC, '-p', 'tsconfig.json'])
  return 'no errors'
}

export async function lint(): Promise<string> {
  const { out } = await expectSuccess(process.execPath, [OXLINT, '--deny-warnings', 'src', 'test', 'scripts', 'demo'])
  return /on (\d+ files)/.exec(out)?.[1] ?? 'no findings'
}

export async function architecture(): Promise<string> {
  await expectSuccess(process.execPath, [VITEST, 'run', 'test/architecture.test.ts'])
  return 'no arrow upwards'
}
