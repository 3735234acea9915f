/** docs/events.md names every event with its fields, and its stories are told as they stand there. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../src/index.ts'
import { STORIES } from './events/stories.ts'

const page = readFileSync(new URL('../docs/events.md', import.meta.url), 'utf8')

const step = { step: '0', kind: 'tool', name: 'refund' } as const

/** One of each, with all of its fields: the compiler holds that. */
const EVENTS: { readonly [TYPE in RunEvent['type']]: Required<Extract<RunEvent, { type: TYPE }>> } = {
  'run-started': { type: 'run-started', attempt: 1 },
  'run-resumed': { type: 'run-resumed', attempt: 2, former: 'dead' },
  'step-started': { type: 'step-started', ...step },
  'step-finished': { type: 'step-finished', ...step, ok: true, tries: 1, ms: 5 },
  'step-replayed': { type: 'step-replayed', ...step },
  'retry-wait': { type: 'retry-wait', ...step, try: 1, delayMs: 5, category: 'server', message: 'm' },
  'step-reset': { type: 'step-reset', ...step, tries: 1, delayMs: 5, category: 'server', message: 'm' },
  'step-timeout': { type: 'step-timeout', ...step, try: 1, limit: 'total', timeoutMs: 5 },
  'step-in-doubt': { type: 'step-in-doubt', ...step, cause: 'timeout' },
  'approval-decided': { type: 'approval-decided', ...step, decision: 'denied', by: 'ada' },
  'doubt-settled': { type: 'doubt-settled', ...step, by: 'reconcile', as: 'completed' },
  'step-waiting': { type: 'step-waiting', ...step, reason: { type: 'draining', message: 'm' } },
  'replay-diverged': { type: 'replay-diverged', step: '0', reason: 'r', superseded: 1 },
  'config-changed': { type: 'config-changed', step: '0', changed: [] },
  'limit-reached': { type: 'limit-reached', limit: 'maxSteps', used: 1, max: 1, step: '0' },
  warning: { type: 'warning', code: 'NOT_RECORDED', message: 'm' },
  'attempt-ended': { type: 'attempt-ended', attempt: 1, summary: { replayed: {}, recorded: {}, unrecorded: [] } },
  'run-suspended': { type: 'run-suspended', reasons: [], resumeAt: null },
  'run-completed': { type: 'run-completed', result: 1 },
  'run-failed': { type: 'run-failed', error: 1 },
  'run-cancelled': { type: 'run-cancelled', reason: 'r' },
}

/** The rows of the page's table: the name, and the fields that its last cell names. */
const rows = new Map([...page.matchAll(/^\| `([a-z-]+)` \| .* \| (.*) \|$/gm)].map(([, type, fields]) => [type!, [...fields!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)]))

describe('docs/events.md', () => {
  it('has a row for each event, and for nothing else', () => {
    expect([...rows.keys()].toSorted()).toEqual(Object.keys(EVENTS).toSorted())
  })

  it.each(Object.entries(EVENTS))('names each field of %s', (type, event) => {
    const common = ['step', 'kind', 'name'] as const
    const fields = Object.keys(event).filter((name) => name !== 'type')
    const named = rows.get(type) ?? []
    const isOfStep = common.every((name) => fields.includes(name))
    expect(named.toSorted()).toEqual((isOfStep ? ['Step', ...fields.filter((name) => !(common as readonly string[]).includes(name))] : fields).toSorted())
  })

  it('names what all events have, and what those of a step have', () => {
    for (const name of ['type', 'runId', 'at', 'step', 'kind', 'name']) expect(page).toContain(`\`${name}\``)
  })

  it.each(STORIES.map(({ title, tell }) => [title, tell] as const))('tells it in that order: %s', async (title, tell) => {
    const told = new RegExp(`^### ${title}\\n[^#]*?\`\`\`text\\n(.*?)\\n\`\`\``, 'ms').exec(page)?.[1]
    expect(told?.split('\n')).toEqual(await tell())
  })

  it('has no story that nobody tells', () => {
    expect([...page.matchAll(/^### (.*)$/gm)].map(([, title]) => title)).toEqual(STORIES.map(({ title }) => title))
  })
})
