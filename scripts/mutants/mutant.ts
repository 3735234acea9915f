/** A mutant: the project with one deliberate mistake in it, and the test that must notice. */

/** The rules of the design that have mutants. */
export const RULES = ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R9', 'R10', 'R11', 'R12', 'R13', 'R14', 'R15', 'R16', 'R17'] as const

export type Rule = (typeof RULES)[number]

/** Text that stands in the source exactly once, and what takes its place. */
export interface Edit {
  readonly from: string
  readonly to: string
}

export interface NamedTest {
  /** Path from the project's root. */
  readonly file: string
  /** Its own title, as vitest prints it: without those of the groups around it, filled in where it is made from a table. */
  readonly name: string
}

export interface Mutant {
  /** A few words, unique in the catalog. */
  readonly name: string
  readonly rule: Rule
  /** What the variant does, in a sentence. */
  readonly wrong: string
  /** Path from the project's root. */
  readonly file: string
  readonly edits: readonly Edit[]
  /** The test that must fail. */
  readonly caughtBy: NamedTest
}

/** A mutant whose text is not in the source any more, or not only once. */
export class NoLongerApplies extends Error {
  override readonly name = 'NoLongerApplies'

  constructor(mutant: Mutant, from: string, times: number) {
    super(`the mutant no longer applies: "${mutant.name}" (${mutant.rule}) changes ${JSON.stringify(from)} in ${mutant.file}, which stands there ${times === 0 ? 'no more' : `${times} times`}`)
  }
}

/** The source with the mistake in it. @throws NoLongerApplies. */
export function mutate(source: string, mutant: Mutant): string {
  let mutated = source
  for (const { from, to } of mutant.edits) {
    const parts = mutated.split(from)
    if (parts.length !== 2) throw new NoLongerApplies(mutant, from, parts.length - 1)
    mutated = parts.join(to)
  }
  return mutated
}
