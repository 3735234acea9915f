/** Judges cases one after the other, in a thread of its own: whoever started it sees where it is, and ends it when it gets no further. */
import { parentPort, workerData } from 'node:worker_threads'
import { caseOf, judge } from './case.ts'
import { judgeFile } from './file.ts'
import type { Case } from './case.ts'
import type { Verdict } from './violation.ts'

export interface Task {
  readonly seed: number
  readonly from: number
  readonly until: number
  /** Each case of this many is about the bytes of a file. */
  readonly fileEvery: number
  /** Its first number is the case being judged. */
  readonly at: Int32Array
}

export type Told =
  | { readonly type: 'violation'; readonly k: number; readonly message: string; readonly case: Case | undefined }
  | { readonly type: 'done'; readonly verdicts: Readonly<Record<string, number>>; readonly slowest: { readonly k: number; readonly ms: number } }

const { seed, from, until, fileEvery, at } = workerData as Task
const tell = (told: Told): void => parentPort!.postMessage(told)
const verdicts: Record<string, number> = {}
let slowest = { k: from, ms: 0 }
for (let k = from; k < until; k++) {
  Atomics.store(at, 0, k)
  const isFile = k % fileEvery === 0
  const each = isFile ? undefined : caseOf(seed, k)
  const start = performance.now()
  let verdict: Verdict
  try {
    verdict = each ? await judge(each) : await judgeFile(seed, k)
  } catch (error) {
    verdict = 'VIOLATION'
    tell({ type: 'violation', k, message: error instanceof Error ? error.message : String(error), case: each })
  }
  const ms = performance.now() - start
  if (ms > slowest.ms) slowest = { k, ms }
  const name = `${each?.about ?? 'file'}: ${verdict}`
  verdicts[name] = (verdicts[name] ?? 0) + 1
}
tell({ type: 'done', verdicts, slowest })
