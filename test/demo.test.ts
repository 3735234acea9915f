/** The demo as a person runs it: a process of its own, real sockets, a real SIGKILL. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { KillPlan } from '../demo/kill-plan.ts'
import { Ledger } from '../demo/ledger.ts'
import { liveModel } from '../demo/live.ts'
import { parseOptions, POINTS } from '../demo/options.ts'
import { typed } from '../demo/person.ts'
import { effects } from '../demo/ticket.ts'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function demo(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url))
  const keyless = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.endsWith('_API_KEY')))
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { env: { ...keyless, ...env } }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err })
    })
  })
}

const slow = { timeout: 120_000 }

describe('the demo', () => {
  it.concurrent('kills the agent right after its refund, goes on, and sees each effect exactly once', slow, async () => {
    const { code, out } = await demo([])
    expect(out).toMatch(/rate_limit, .*: waits 1\.\d s, then try 2/)
    expect(out).toMatch(/read_policy hangs: given up after 1\.0 s/)
    expect(out).toMatch(/step-reset {2}the stream broke in the middle/)
    expect(out).toMatch(/SIGKILL {5}at point \d+: world: \/payments\/refunds took effect, its answer was not sent yet/)
    expect(out).toMatch(/is resumed: attempt 2/)
    expect(out).toMatch(/5 model requests and 5 tool calls answered from the journal in \d+ ms, none was sent again/)
    expect(out).toMatch(/reconcile {3}the service is asked by the idempotency key of refund: it took effect/)
    for (const { name } of effects) expect(out).toMatch(new RegExp(`\\(${name}\\) +1 +1 +0 {2}exactly once`))
    expect(out).not.toContain('\u001b[')
    expect(code).toBe(0)
  })

  it.concurrent('with --refuse waits for holdfast resolve', slow, async () => {
    const { code, out, err } = await demo(['--refuse', '--json'])
    expect(err).toMatch(/suspended {3}nobody knows whether tool "refund" .* took effect/)
    expect(err).toMatch(/\$ holdfast resolve ticket-4711 \S+ --result '\{"refund":"rf_1".*\}' --store \S+/)
    expect(err).toMatch(/Process 3 of the agent/)
    const verdict = JSON.parse(out) as { ok: boolean; effects: { effect: string; times: number; withoutKey: number }[] }
    expect(verdict.effects.map(({ effect, times }) => [effect, times])).toEqual(effects.map(({ name }) => [name, 1]))
    expect(verdict.ok).toBe(true)
    expect(code).toBe(0)
  })

  it.concurrent('says what is wrong with its flags, and starts nothing', slow, async () => {
    const [wrong, keyless] = await Promise.all([demo(['--kill-at', 'soon']), demo(['--live'])])
    expect(wrong).toEqual({ code: 2, out: '', err: 'demo: --kill-at must be a whole number from 1 on, got "soon". See --help\n' })
    expect(keyless.code).toBe(2)
    expect(keyless.err).toContain('--live needs the key of a provider in the environment: OPENAI_API_KEY')
  })
})

describe('the flags of the demo', () => {
  it.each([
    [['--kill-at', '0'], '--kill-at must be a whole number from 1 on, got "0"'],
    [['--kill-at=-3'], '--kill-at must be a whole number from 1 on, got "-3"'],
    [['--seed', 'x'], '--seed must be a whole number from 0 on, got "x"'],
    [['--seed', '1', '--kill-at', '2'], '--kill-at and --seed say different things: give one of them'],
    [['--seed', '1', '--points'], '--seed and --points say different things: give one of them'],
  ])('%j is refused', (args, message) => {
    expect(parseOptions(args)).toEqual({ type: 'wrong', message })
  })

  it('refuses a flag that it does not know', () => {
    expect(parseOptions(['--kil-at', '3'])).toMatchObject({ type: 'wrong', message: expect.stringContaining("'--kil-at'") })
  })

  it('draws the same point for the same seed, and every point for some', () => {
    const drawn = Array.from({ length: 2_000 }, (_, seed) => parseOptions([`--seed=${seed}`]))
    const numbers = drawn.map((parsed) => (parsed.type === 'run' && parsed.options.killAt.type === 'point' ? parsed.options.killAt.number : 0))
    expect(new Set(numbers)).toEqual(new Set(Array.from({ length: POINTS }, (_, i) => i + 1)))
    expect(parseOptions(['--seed=5'])).toEqual(drawn[5])
  })

  it('kills once, at the point or the effect that was named', () => {
    const numbered = new KillPlan({ type: 'point', number: 2 })
    expect([1, 2, 3].map(() => numbered.reach({ what: 'a write' }))).toEqual([false, true, false])
    expect(numbered.killed).toEqual({ number: 2, what: 'a write' })
    const named = new KillPlan({ type: 'effect', name: 'refund' })
    expect(named.reach({ what: 'sent', effect: 'send_email' })).toBe(false)
    expect(named.reach({ what: 'refunded', effect: 'refund' })).toBe(true)
  })

  it('uses the first provider whose key is there, and does not take the key along', () => {
    expect(liveModel({})).toBeUndefined()
    expect(liveModel({ MISTRAL_API_KEY: 'k', HOLDFAST_DEMO_MODEL: 'small' })).toEqual({
      name: 'mistral', url: 'https://api.mistral.ai/v1', id: 'small', keyFrom: 'MISTRAL_API_KEY',
    })
  })
})

describe('the world of the demo', () => {
  it('refunds once for a key, and sends mail as often as it is asked to', () => {
    const ledger = new Ledger()
    for (const path of ['/payments/refunds', '/mail/messages'] as const) {
      for (const key of ['k', 'k']) {
        ledger.countEffectRequest(path, key)
        ledger.make(path, key)
      }
      ledger.countEffectRequest(path, undefined)
      ledger.make(path, undefined)
    }
    const times = Object.fromEntries(ledger.view().effects.map((effect) => [effect.name, [effect.times, effect.requests]]))
    expect(times).toMatchObject({
      refund: [2, { withKey: 2, withoutKey: 1 }],
      send_email: [3, { withKey: 2, withoutKey: 1 }],
      add_note: [0, { withKey: 0, withoutKey: 0 }],
    })
    expect(ledger.find('/payments/refunds', 'k')).toMatchObject({ refund: 'rf_1' })
    expect(ledger.find('/payments/refunds', 'another')).toBeUndefined()
  })
})

it('types a command so that a shell takes it as it is', () => {
  expect(typed(['resolve', 't-1', '4/c:call_6', '--result', '{"a":"it\'s"}'])).toBe(`holdfast resolve t-1 4/c:call_6 --result '{"a":"it'\\''s"}'`)
})
