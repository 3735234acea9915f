/** Work that is done by a few at a time. */

/** Gives each item to the first of `lanes` that is free; rejects with the first error, starting nothing more. */
export async function inLanes<LANE, T, R>(lanes: readonly LANE[], items: readonly T[], work: (lane: LANE, item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  let failed = false
  await Promise.all(lanes.map(async (lane) => {
    for (const [i, item] of left) {
      if (failed) return
      try {
        results[i] = await work(lane, item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }))
  return results
}
