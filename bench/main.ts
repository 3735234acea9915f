/**
 * `npm run bench`: what a step costs, as ratios within one run of this program (R17).
 *
 *   cost    ms a step, beside a raw append with fdatasync of the same bytes
 *   growth  processor time a step in the quickest of the last blocks beside the quickest of the first: 1 is flat
 *   bytes   what the journal holds beside what the steps gave, under a system prompt of 100 KB
 *   values  a value to text and back, beside JSON and beside devalue alone; secrets
 *
 * The loops of the AI SDK grow by themselves: beside such a row stands the same loop without Holdfast, and what is left is ours: each message of a
 * request is compared with the copy of it that is kept, and copied to be sent (R8; docs/decisions/2026-11-30-changed-in-place.md).
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { integer, runScript, valuesOf } from '../scripts/usage.ts'
import { memoryStore, sqliteStore, type Store } from '../src/index.ts'
import { Blocks, oursOf, type Row } from './blocks.ts'
import { encryptedStore } from '../src/stores/encrypted.ts'
import { ownLoop, sdkLoop } from './requests.ts'
import { stepKinds, stepRows } from './steps.ts'
import { secretRows, valueLines, valueRows } from './values.ts'

const HELP = `Usage: npm run bench -- [options]

What a step costs, beside a raw append to a file, and whether the last of many costs more than the first. Takes minutes.

  --steps N     how many steps of 1 KB in each row (default 10000, at least 80)
  --only NAME   the rows whose names contain this
  --json        the rows as JSON
  --help        this text

Examples:
  npm run bench -- --steps 1000
  npm run bench -- --only memory
  npm run bench -- --only values --json

Exit codes: 0 done, 1 a run failed, 2 wrong usage.`

interface Options {
  readonly steps: number
  readonly only: string
  readonly json: boolean
}

/** @returns undefined where help is asked for. @throws UsageError. */
function readOptions(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const values = valuesOf(args, { steps: text, only: text, json: flag, help: flag })
  if (values.help) return undefined
  return { steps: integer('--steps', values.steps, 10_000, 80), only: values.only ?? '', json: values.json ?? false }
}

async function rawAppend(steps: number, folder: string): Promise<Row> {
  const blocks = new Blocks(steps)
  const payload = 'x'.repeat(1_000)
  const file = openSync(join(folder, 'raw'), 'a')
  for (let i = 0; i < steps; i++) {
    writeSync(file, payload)
    fdatasyncSync(file)
    blocks.step()
  }
  closeSync(file)
  return blocks.row('raw append and fdatasync')
}

const encryptedRows = (store: Store, steps: number): Promise<Row[]> =>
  stepRows(encryptedStore(store, { keys: { bench: new Uint8Array(32) }, current: 'bench' }), steps, 'step with effects', store)

const benches = (steps: number, folder: string): Readonly<Record<string, () => Promise<Row[]>>> => ({
  'sqlite: step with effects': () => stepRows(sqliteStore(join(folder, 'bench.db')), steps, 'step with effects'),
  'encrypted sqlite: step with effects': () => encryptedRows(sqliteStore(join(folder, 'encrypted.db')), steps),
  'encrypted memory: step with effects': () => encryptedRows(memoryStore(), steps),
  ...Object.fromEntries(stepKinds.map((kind) => [`memory: ${kind}`, () => stepRows(memoryStore(), steps, kind)])),
  'model request, own loop': async () => [await ownLoop(steps)],
  'generateText, tool with effects': async () => [await sdkLoop('generateText', steps, { readOnly: false })],
  'streamText, read-only tool': async () => [await sdkLoop('streamText', steps, { readOnly: true })],
})

function line(row: Row, raw: number): string {
  const { what, msPerStep, first, last, bytesRatio, plain, sent } = row
  const cost = `  ${what.padEnd(42)} ${msPerStep.toFixed(3).padStart(8)} ms ${(msPerStep / raw).toFixed(1).padStart(7)} x raw`
  const growth = `  growth ${(last / first).toFixed(2).padStart(5)} (${first.toFixed(3)} -> ${last.toFixed(3)} ms)`
  const bytes = bytesRatio === undefined ? '' : `  ${bytesRatio.toFixed(2)} x the payload in the journal`
  return `${cost}${growth}${bytes}\n${plain ? line(plain, raw) + line(oursOf(row, plain), raw) : ''}${sent ? line(sent, raw) : ''}`
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  try {
    await measure(options, folder)
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure({ steps, only, json }: Options, folder: string): Promise<void> {
  const raw = await rawAppend(steps, folder)
  const rows = [raw]
  const print = (row: Row): void => void (json || process.stdout.write(line(row, raw.msPerStep)))
  if (!json) process.stdout.write(`${steps} steps of 1 KB\n`)
  print(raw)
  for (const [name, bench] of Object.entries(benches(steps, folder))) {
    if (!name.includes(only)) continue
    for (const row of await bench()) {
      rows.push(row)
      print(row)
    }
  }
  const withValues = 'values'.includes(only)
  if (withValues && !json) process.stdout.write(valueLines())
  if (json) process.stdout.write(`${JSON.stringify(withValues ? [...rows, ...valueRows(), ...secretRows()] : rows)}\n`)
}

await runScript('bench', main)
