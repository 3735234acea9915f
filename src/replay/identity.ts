/**
 * How a step is known (R1): by where it is asked, as a path of segments.
 *
 *   3                 the main line's fourth numbered step
 *   3/c:call_7        the tool call `call_7` that the response of step 3 asked for
 *   3/c:call_7/0      the first numbered step inside that call
 *   b:eu#1/0          the first numbered step of the branch `eu`, opened for the second time
 *   s:charge:17#0     the step `charge` with key `17`
 *   p:approval-9      the call that approval `approval-9` in the messages let run
 *   3/c:x/reconcile   the asking whether the call `x` took effect: no step, but it may have to wait like one
 *   3~1               what stands at the place of step 3 after its first record was superseded
 */

/** Path of the main line. */
export const MAIN = ''

const join = (parent: string, segment: string): string => (parent === MAIN ? segment : `${parent}/${segment}`)

// A lone surrogate makes encodeURIComponent throw; `%u` is nothing that it writes itself.
const escape = (text: string): string =>
  text
    .split(/([\ud800-\udfff])/u)
    .map((part, i) => (i % 2 === 1 ? `%u${part.charCodeAt(0).toString(16)}` : encodeURIComponent(part)))
    .join('')
    .replaceAll('~', '%7E')

/** The path of the numbered step `slot` of a branch. */
export const numbered = (branch: string, slot: number): string => join(branch, String(slot))

/** The path of a tool call asked for by the model step `modelStep`; `occurrence` counts calls of one response that share an id. */
export const called = (modelStep: string, callId: string, occurrence: number): string =>
  join(modelStep, occurrence === 0 ? `c:${escape(callId)}` : `c:${escape(callId)}#${occurrence}`)

/** The path of a call that was approved in the messages that a conversation began with; `occurrence` counts calls of a branch that share an approval's id. */
export const approved = (branch: string, approvalId: string, occurrence: number): string =>
  join(branch, occurrence === 0 ? `p:${escape(approvalId)}` : `p:${escape(approvalId)}#${occurrence}`)

/** What is known by a name, a key and an occurrence: `s` a step, `b` a branch, `a` a child agent. */
export const keyed = (branch: string, type: 's' | 'b' | 'a', name: string, key: string | undefined, occurrence: number): string =>
  join(branch, `${type}:${escape(name)}${key === undefined ? '' : `:${escape(key)}`}#${occurrence}`)

/** What the asking about a step in doubt is known by, where it has to wait. */
export const askingAbout = (step: string): string => join(step, 'reconcile')

/** The path of a place after its records were superseded `generation` times. */
export const regenerated = (path: string, generation: number): string => (generation === 0 ? path : `${path}~${generation}`)

/** The place of a path: without its generation. */
export function placeOf(path: string): string {
  const mark = path.lastIndexOf('~')
  return mark > path.lastIndexOf('/') ? path.slice(0, mark) : path
}

/** A path without any generations: the same turn of the program, whatever was superseded on the way to it. */
export const turnOf = (path: string): string => path.split('/').map(placeOf).join('/')

/** The generation of a path: how often the place was superseded before. */
export function generationOf(path: string): number {
  const mark = path.lastIndexOf('~')
  return mark > path.lastIndexOf('/') ? Number(path.slice(mark + 1)) : 0
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Whether the path is that of a tool call that a response asked for. */
export const isCalled = (path: string): boolean => lastOf(path).startsWith('c:')

/** What a call is known by that an approval let run, wherever it stands; undefined: it is none. */
export function approvalOf(path: string): string | undefined {
  const segment = lastOf(placeOf(path))
  return segment.startsWith('p:') ? segment.split('#', 1)[0] : undefined
}

/** Where a step with a key stands, whichever time it is; undefined: it has none. */
export function keyPlaceOf(path: string): string | undefined {
  const turn = turnOf(path)
  return lastOf(turn).startsWith('s:') ? turn.slice(0, turn.lastIndexOf('#')) : undefined
}

/** The number of a numbered step; undefined: the path is of something else. */
export function slotOf(path: string): number | undefined {
  const [, slot] = /^(\d+)(?:~\d+)?$/.exec(lastOf(path)) ?? []
  return slot === undefined ? undefined : Number(slot)
}

/** The path one segment up; undefined for the main line. */
export function parentOf(path: string): string | undefined {
  if (path === MAIN) return undefined
  const slash = path.lastIndexOf('/')
  return slash === -1 ? MAIN : path.slice(0, slash)
}

/** A branch and all that it stands in: the ids of the steps around it are among them. */
export function around(branch: string): string[] {
  const paths: string[] = []
  for (let path: string | undefined = branch; path !== undefined; path = parentOf(path)) paths.push(path)
  return paths
}

/** Whether `path` is `root` or lies below it. */
export const isWithin = (path: string, root: string): boolean =>
  root === MAIN || path === root || (path.startsWith(root) && path[root.length] === '/')
