/** Finds what somebody probably meant who mistyped a name. */

/** Up to `most` of `names` that are near `name`, the nearest first; those that need too many changes are left out. */
export function nearestNames(name: string, names: readonly string[], most = 3): string[] {
  const wanted = name.toLowerCase()
  return names
    .map((each) => ({ each, distance: editDistance(wanted, each.toLowerCase()) }))
    .filter(({ each, distance }) => distance <= Math.max(2, Math.ceil(Math.max(name.length, each.length) * 0.4)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ each }) => each)
}

/** Levenshtein distance: insertions, deletions and changes of one character each. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length] ?? 0
}
