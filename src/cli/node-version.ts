/** The lowest Node that Holdfast runs on. Plain syntax: this file is loaded by Nodes that are too old for the rest. */

/** As in `engines` of package.json. */
export const LOWEST_NODE = '22.13'

/**
 * What to say on a Node that is too old, in one sentence; an empty text on one that is not.
 *
 * @param version As in `process.versions.node`, such as `20.20.2`.
 */
export function tooOld(version: string): string {
  const have = version.split('.').map(Number)
  const need = LOWEST_NODE.split('.').map(Number)
  const isOld = have[0]! < need[0]! || (have[0] === need[0] && have[1]! < need[1]!)
  return isOld ? 'holdfast needs Node ' + LOWEST_NODE + ' or newer, and this is Node ' + version + '.' : ''
}
