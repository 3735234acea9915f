/** Judges cases one after the other, in a thread of its own: whoever started it sees where it is, and ends it when it gets no further. */
import { parentPort, workerData } from 'node:worker_threads'
import { casesOf, judge } from './case.ts'
import { judgeFile } from './file.ts'
import type { Case } from './case.ts'
import type { Verdict } from './violation.ts'

export interface Task {
  readonly seed: number
  readonly from: number
  readonly until: number
  /** Each case of this many is about the bytes of a file, and not about a journal. */
  readonly fileEvery: number
  /** Its first number is the case being judged. */
  readonly at: Int32Array
}

export type Told =
  | { readonly type: 'violation'; readonly k: number; readonly message: string; readonly case: Case | undefined }
  | { readonly type: 'done'; readonly verdicts: Readonly<Record<string, number>>; readonly slowest: { readonly k: number; readonly ms: number } }

/** A case takes milliseconds: who computes for so long may do so for ever on another one. */
const SLOW_MS = 10_000

const { seed, from, until, fileEvery, at } = workerData as Task
const tell = (told: Told): void => parentPort!.postMessage(told)
const verdicts: Record<string, number> = {}
let slowest = { k: from, ms: 0 }
/** @param each Undefined: the bytes of a file. */
async function judged(k: number, each: Case | undefined): Promise<void> {
  const start = performance.now()
  let verdict: Verdict
  try {
    verdict = each ? await judge(each) : await judgeFile(seed, k)
  } catch (error) {
    verdict = 'VIOLATION'
    tell({ type: 'violation', k, message: error instanceof Error ? error.message : String(error), case: each })
  }
  const ms = performance.now() - start
  if (ms > SLOW_MS) tell({ type: 'violation', k, message: `${verdict}, after ${Math.round(ms)} ms`, case: each })
  if (ms > slowest.ms) slowest = { k, ms }
  const name = `${each?.about ?? 'file'}: ${verdict}`
  verdicts[name] = (verdicts[name] ?? 0) + 1
}
for (let k = from; k < until; k++) {
  Atomics.store(at, 0, k)
  const cases = casesOf(seed, k)
  for (const each of k % fileEvery === 0 ? [undefined, ...cases.slice(1)] : cases) await judged(k, each)
}
tell({ type: 'done', verdicts, slowest })
