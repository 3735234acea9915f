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
 * `--steps` (default 10000), `--only` a part of a row's name, `--json`.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { memoryStore, sqliteStore, type Store } from '../src/index.ts'
import { Blocks, oursOf, type Row } from './blocks.ts'
import { encryptedStore } from '../src/stores/encrypted.ts'
import { ownLoop, sdkLoop } from './requests.ts'
import { stepKinds, stepRows } from './steps.ts'
import { secretRows, valueLines, valueRows } from './values.ts'

const { values } = parseArgs({ options: { steps: { type: 'string', default: '10000' }, only: { type: 'string', default: '' }, json: { type: 'boolean', default: false } } })
const steps = Number(values.steps)
if (!Number.isSafeInteger(steps) || steps < 80) throw new Error(`--steps must be a number of at least 80, got ${values.steps}`)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))

async function rawAppend(): Promise<Row[]> {
  const blocks = new Blocks(steps)
  const payload = 'x'.repeat(1_000)
  const file = openSync(join(folder, 'raw'), 'a')
  for (let i = 0; i < steps; i++) {
    writeSync(file, payload)
    fdatasyncSync(file)
    blocks.step()
  }
  closeSync(file)
  return [blocks.row('raw append and fdatasync')]
}

const encryptedRows = (store: Store): Promise<Row[]> =>
  stepRows(encryptedStore(store, { keys: { bench: new Uint8Array(32) }, current: 'bench' }), steps, 'step with effects', store)

const benches: Readonly<Record<string, () => Promise<Row[]>>> = {
  'sqlite: step with effects': () => stepRows(sqliteStore(join(folder, 'bench.db')), steps, 'step with effects'),
  'encrypted sqlite: step with effects': () => encryptedRows(sqliteStore(join(folder, 'encrypted.db'))),
  'encrypted memory: step with effects': () => encryptedRows(memoryStore()),
  ...Object.fromEntries(stepKinds.map((kind) => [`memory: ${kind}`, () => stepRows(memoryStore(), steps, kind)])),
  'model request, own loop': async () => [await ownLoop(steps)],
  'generateText, tool with effects': async () => [await sdkLoop('generateText', steps, { readOnly: false })],
  'streamText, read-only tool': async () => [await sdkLoop('streamText', steps, { readOnly: true })],
}

function line(row: Row, raw: number): string {
  const { what, msPerStep, first, last, bytesRatio, plain } = row
  const cost = `  ${what.padEnd(42)} ${msPerStep.toFixed(3).padStart(8)} ms ${(msPerStep / raw).toFixed(1).padStart(7)} x raw`
  const growth = `  growth ${(last / first).toFixed(2).padStart(5)} (${first.toFixed(3)} -> ${last.toFixed(3)} ms)`
  const bytes = bytesRatio === undefined ? '' : `  ${bytesRatio.toFixed(2)} x the payload in the journal`
  return `${cost}${growth}${bytes}\n${plain ? line(plain, raw) + line(oursOf(row, plain), raw) : ''}`
}

try {
  const [raw] = (await rawAppend()) as [Row]
  const rows = [raw]
  const print = (row: Row): void => void (values.json || process.stdout.write(line(row, raw.msPerStep)))
  if (!values.json) process.stdout.write(`${steps} steps of 1 KB\n`)
  print(raw)
  for (const [name, bench] of Object.entries(benches)) {
    if (!name.includes(values.only)) continue
    for (const row of await bench()) {
      rows.push(row)
      print(row)
    }
  }
  const withValues = 'values'.includes(values.only)
  if (withValues && !values.json) process.stdout.write(valueLines())
  if (values.json) process.stdout.write(`${JSON.stringify(withValues ? [...rows, ...valueRows(), ...secretRows()] : rows)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
