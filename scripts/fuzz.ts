/**
 * Damaged and forged journals, values, messages and files, read by everything that reads them: `npm run fuzz -- --journals N --seed S`.
 * What comes of it is one of the errors with its place, or exactly what was written; of a run that is driven on a forged journal (each tenth case), an outcome. No crash, no hang, no silent loss, no wrong answer.
 * `--every-byte` cuts the log of a small SQLite store at each byte instead (F2).
 * `--from K` begins with case K, `--files N` says that each Nth case is about the bytes of a SQLite file (default 50).
 * What it finds goes into test/fuzz/corpus, once it is mended (docs/testing.md).
 */
import { randomInt } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { judgeCuts, written } from '../test/fuzz/cut.ts'
import type { Task, Told } from '../test/fuzz/worker.ts'
import { integer, runScript, valuesOf } from './usage.ts'

const HELP = `Usage: npm run fuzz -- [options]

  --journals N   how many cases (default 10000)
  --seed S       the same cases again (default: a random one, printed)
  --from K       begins with case K
  --files N      each Nth case is about the bytes of a SQLite file (default 50)
  --every-byte   cuts the log of a small SQLite store at each byte instead
  --help         this text

Examples:
  npm run fuzz -- --journals 100000 --seed 7
  npm run fuzz -- --seed 7 --from 4711 --journals 1
  npm run fuzz -- --every-byte

Exit codes: 0 nothing broke, 1 a violation, 2 wrong usage.`
/** A case takes milliseconds. */
const HANGS_MS = 60_000
const SHOWN = 10

interface Options {
  readonly journals: number
  readonly seed: number
  readonly from: number
  readonly files: number
  readonly everyByte: boolean
}

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const

/** @returns undefined where help is asked for. @throws UsageError. */
function readOptions(args: readonly string[]): Options | undefined {
  const values = valuesOf(args, { 'every-byte': flag, journals: text, seed: text, from: text, files: text, help: flag })
  if (values.help) return undefined
  return {
    journals: integer('--journals', values.journals, 10_000, 1),
    seed: integer('--seed', values.seed, randomInt(1_000_000)),
    from: integer('--from', values.from, 0),
    files: integer('--files', values.files, 50, 1),
    everyByte: values['every-byte'] ?? false,
  }
}

async function cutEverywhere(): Promise<number> {
  const run = await written()
  console.log(`a log of ${run.log.length} bytes, ${run.commits.length - 1} commits`)
  console.log(`cut at ${await judgeCuts(run, Array.from({ length: run.log.length + 1 }, (_, at) => at).values())} bytes: each gives the last commit that is whole`)
  return 0
}

async function run({ journals, seed, from, files }: Options): Promise<number> {
  const until = from + journals
  console.log(`cases ${from} to ${until - 1} of seed ${seed}`)
  let violations = 0
  const verdicts: Record<string, number> = {}
  let slowest = { k: from, ms: 0 }
  for (let next = from; next < until;) {
    const at = new Int32Array(new SharedArrayBuffer(4))
    at[0] = next
    const task: Task = { seed, from: next, until, fileEvery: files, at }
    next = until
    const worker = new Worker(new URL('../test/fuzz/worker.ts', import.meta.url), { workerData: task, resourceLimits: { maxOldGenerationSizeMb: 1_500 } })
    worker.on('message', (told: Told) => {
      if (told.type === 'done') {
        for (const [name, count] of Object.entries(told.verdicts)) verdicts[name] = (verdicts[name] ?? 0) + count
        if (told.slowest.ms > slowest.ms) slowest = told.slowest
      } else if (++violations <= SHOWN) {
        console.log(`\ncase ${told.k}: ${told.message}\n${told.case ? JSON.stringify(told.case).slice(0, 100_000) : ''}`)
      }
    })
    let last = Atomics.load(at, 0)
    let since = performance.now()
    const watch = setInterval(() => {
      const now = Atomics.load(at, 0)
      console.log(`  ${now - from} of ${journals}`)
      if (now !== last) [last, since] = [now, performance.now()]
      else if (performance.now() - since > HANGS_MS) void worker.terminate()
    }, 10_000)
    const failure = await new Promise<string | undefined>((resolve) => {
      worker.on('error', (error) => resolve(String(error)))
      worker.on('exit', (code) => resolve(code === 0 ? undefined : 'it does not come to an end'))
    })
    clearInterval(watch)
    if (failure === undefined) continue
    const k = Atomics.load(at, 0)
    violations++
    console.log(`\ncase ${k}: ${failure}`)
    next = k + 1
  }
  for (const [name, count] of Object.entries(verdicts).sort()) console.log(`${String(count).padStart(8)}  ${name}`)
  console.log(`slowest: case ${slowest.k}, ${Math.round(slowest.ms)} ms`)
  console.log(violations === 0 ? `${journals} cases, nothing broke` : `${violations} VIOLATIONS; again with --seed ${seed} --from K --journals 1`)
  return violations === 0 ? 0 : 1
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    console.log(HELP)
    return 0
  }
  return options.everyByte ? cutEverywhere() : run(options)
}

await runScript('fuzz', main)
