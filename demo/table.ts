/** The end of the demo: each effect, and how often the world saw it. Pure. */
import type { LedgerView } from './ledger.ts'
import type { Terminal } from './terminal.ts'

export interface Verdict {
  readonly ok: boolean
  readonly effects: readonly { readonly effect: string; readonly times: number; readonly requests: number; readonly withoutKey: number }[]
  readonly requests: LedgerView['requests']
  readonly modelRequests: number | null
  readonly killedAt: { readonly point: number; readonly what: string } | null
  readonly points: number
  readonly ms: number
}

export const eachExactlyOnce = (view: LedgerView): boolean => view.effects.every(({ times }) => times === 1)

export function printTable(terminal: Terminal, view: LedgerView, modelRequests: number | undefined): void {
  const rows = view.effects.map(({ name, what, times, requests }) => [`${what} (${name})`, String(times), String(requests.withKey), String(requests.withoutKey)])
  const head = ['effect', 'times', 'requests with key', 'without']
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')
  terminal.print(terminal.style('strong', 'What the world saw'))
  terminal.print(`  ${terminal.style('quiet', line(head))}`)
  for (const [i, row] of rows.entries()) {
    const once = view.effects[i]!.times === 1
    terminal.print(`  ${line(row)}  ${terminal.style(once ? 'good' : 'bad', once ? 'exactly once' : 'WRONG')}`)
  }
  const { received, lookups, questions, effects } = view.requests
  const asked = modelRequests === undefined ? '' : `; the model ${modelRequests}`
  terminal.print(terminal.style('quiet', `  The world received ${received} requests: ${effects} for effects, ${lookups} lookups, ${questions} ${questions === 1 ? 'question' : 'questions'} whether an effect was made${asked}`))
}
