/** Fails the first attempt after everything it did, so that the second one replays. */
export function failingOnce(): () => void {
  let failed = false
  return () => {
    if (failed) return
    failed = true
    throw new Error('later')
  }
}
