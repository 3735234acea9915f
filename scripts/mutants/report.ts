/** What a run of the mutants says. */
import type { Mutant, NamedTest } from './mutant.ts'
import type { Verdict } from './verdict.ts'

export interface Judged {
  readonly mutant: Mutant
  readonly verdict: Verdict
  readonly seconds: number
}

/** One line while it goes on. */
export const progressOf = ({ mutant, verdict, seconds }: Judged, done: number, all: number): string =>
  `${`${done}/${all}`.padStart(7)}  ${mutant.rule.padEnd(4)}${mutant.name}: ${wordsOf(verdict)} (${seconds.toFixed(1)} s)`

const wordsOf = (verdict: Verdict): string => {
  switch (verdict.type) {
    case 'caught': return 'caught'
    case 'survived': return 'SURVIVED'
    case 'broken': return `BROKEN: ${verdict.message}`
  }
}

export const testOf = ({ file, name }: NamedTest): string => `${file}: ${name}`

/** The table at the end: rule, mutant, the test, seconds. */
export function tableOf(judged: readonly Judged[]): string {
  const width = Math.max(...judged.map(({ mutant }) => mutant.name.length), 'mutant'.length)
  const row = (rule: string, name: string, verdict: string, seconds: string, test: string): string =>
    `${rule.padEnd(4)}  ${name.padEnd(width)}  ${verdict.padEnd(8)}  ${seconds.padStart(5)}  ${test}`
  return [
    row('rule', 'mutant', 'verdict', 's', 'by'),
    ...judged.map(({ mutant, verdict, seconds }) => row(mutant.rule, mutant.name, verdict.type, seconds.toFixed(1), testOf(mutant.caughtBy))),
  ].join('\n')
}

/** What has to be done about one that was not caught. */
export function complaintOf({ mutant, verdict }: Judged): string {
  const what = verdict.type === 'broken' ? `is broken: ${verdict.message}` : verdict.type
  return `"${mutant.name}" (${mutant.rule}, ${mutant.file}) ${what}
    ${mutant.wrong}
    must be caught by ${testOf(mutant.caughtBy)}`
}

/** The list without running anything. */
export const listOf = (mutants: readonly Mutant[]): string =>
  mutants.map(({ name, rule, wrong, caughtBy }) => `${rule.padEnd(4)}  ${name}\n      ${wrong}\n      ${testOf(caughtBy)}`).join('\n')
