/** Many slices of programs, several at once. */
import { Worker } from 'node:worker_threads'
import { Totals } from '../../test/programs/totals.ts'
import type { Slice, Told } from './slice.ts'

/** How many programs share a thread: few enough for its memory, enough for its start not to matter. */
const SLICE = 250
/** A program takes milliseconds, and one that fails seconds until it is small. */
const HANGS_MS = 180_000
const PROGRESS_MS = 10_000

export interface Series extends Slice {
  /** How many threads work at once. */
  readonly jobs: number
  /** Ends after so many programs that failed. */
  readonly stopAfter: number
}

export async function runSeries({ jobs, stopAfter, ...series }: Series): Promise<Totals> {
  const totals = new Totals()
  const progress = setInterval(() => console.log(totals.line()), PROGRESS_MS)
  let next = series.from
  const work = async (): Promise<void> => {
    while (next < series.until && totals.failed < stopAfter) {
      const from = next
      next = Math.min(from + SLICE, series.until)
      await runSlice({ ...series, from, until: next }, totals, () => totals.failed >= stopAfter)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  clearInterval(progress)
  return totals
}

/** A thread that gets no further counts as a program that failed; the programs behind it are judged by another one. */
async function runSlice(slice: Slice, totals: Totals, isEnough: () => boolean): Promise<void> {
  for (let from = slice.from; from < slice.until && !isEnough();) {
    const task: Slice = { ...slice, from }
    const worker = new Worker(new URL('./slice.ts', import.meta.url), { workerData: task })
    let at = from
    const ended = await new Promise<string | undefined>((resolve) => {
      const hangs = (): void => {
        resolve('it does not come to an end')
        void worker.terminate()
      }
      let watch = setTimeout(hangs, HANGS_MS)
      worker.on('message', (told: Told) => {
        clearTimeout(watch)
        watch = setTimeout(hangs, HANGS_MS)
        if (told.type === 'says') return console.log(told.text)
        if (told.type === 'judged') return totals.add(told.tally)
        at = told.k
        if (isEnough()) void worker.terminate()
      })
      worker.on('error', (error) => resolve(error instanceof Error ? error.stack : String(error)))
      worker.on('exit', () => {
        clearTimeout(watch)
        resolve(undefined)
      })
    })
    if (ended === undefined) return
    totals.lost()
    console.log(`\nprogram ${at} of seed ${slice.seed}: ${ended}`)
    from = at + 1
  }
}
