import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { encode } from '../journal/codec.ts'
import { listed } from './commands/list.ts'
import { COMMANDS } from './commands.ts'
import { EXIT_CODES } from './exit-code.ts'
import { attemptEnded, began, CREATED, ended, journal, rowOf, started, value } from './fixtures/journal.ts'
import { commandHelp, programHelp } from './help.ts'
import { runView } from './view/run-view.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
const specs = COMMANDS.map(({ spec }) => spec)

/** Names of all fields of a document, however deep. */
function fieldsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(fieldsOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...fieldsOf(inner)])
}

describe('docs/cli.md', () => {
  it.each<[string, string]>([['--help', programHelp(specs)], ...specs.map((spec): [string, string] => [`${spec.name} --help`, commandHelp(spec)])])('has the text of holdfast %s', (argv, help) => {
    expect(page).toContain(`\`\`\`text\n$ holdfast ${argv}\n${help}\`\`\``)
  })

  it('names every field of the documents', () => {
    const entries = journal(
      CREATED, started(1), ended('model 0 m', value(1)), began('tool 0/c:a refund'), { type: 'warning', code: 'NOT_RECORDED', message: 'm' }, attemptEnded(1),
      { type: 'superseded', by: 'divergence', step: '0', reason: 'r', ids: [] }, { type: 'config-changed', step: '0', changed: [], config: 'c' },
      { type: 'settled', step: '9', by: 'reconcile', settlement: { type: 'not-done' } },
      { type: 'decision', inbox: 1, step: '9', effect: { name: 'x', key: '' }, fingerprint: 'f', since: 1, decision: { type: 'skip' } },
      { type: 'salvaged', fault: 'checksum', had: 30, inbox: 0, token: 1, copy: 'c' },
      { type: 'run-ended', status: 'failed', error: encode(new Error('m')) },
    )
    const row = rowOf(entries, 'failed')
    const { input: _input, ...view } = runView({ row, entries, owner: null, inbox: [], place: {} })
    const lists = [view.waits, view.steps, view.attempts, view.warnings, view.divergences, view.configChanges, view.settlements, view.decisions, view.salvages]
    expect(lists.map((list) => list.length > 0)).toEqual(lists.map(() => true))
    const missing = [...new Set(fieldsOf({ view, runs: [listed(row, 0)] }))].filter((name) => name !== 'view' && !page.includes(`\`${name}\``))
    expect(missing).toEqual([])
  })

  it('has the table of exit codes, by way of the help', () => {
    for (const [code] of EXIT_CODES) expect(page).toMatch(new RegExp(`^ {2}${code} +\\S`, 'm'))
  })
})
