/** A call that waits for approval, from a terminal. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { command } from './fixtures/test-io.ts'
import { again, eachInItsOwn, fixture } from './fixtures/workplace.ts'

const module = ['--module', fixture('gated')]
let folder: string
let store: string

eachInItsOwn((place) => ({ folder, store } = place))

const made = (): string => (existsSync(join(folder, 'effects')) ? readFileSync(join(folder, 'effects'), 'utf8') : '')
const start = (...more: string[]): ReturnType<typeof command> => again(['run', 'gated', '--id', 'r-1', '--input', '{"amount":50}', '--quiet', ...more, ...module])

describe('a call that waits for approval', () => {
  it('is told by run and show, with what it would be called with and the commands that answer', async () => {
    const said = `waits for
  approval 0: somebody has to agree before "refund" is called
    0 refund {"amount":50}
      not started
    make this call:
      holdfast approve r-1 0 PLACE
    do not make this call: the model is told so:
      holdfast deny r-1 0 PLACE

Then it goes on with
  holdfast resume r-1`
    const { code, out } = await start()
    expect([code, out]).toEqual([3, `run r-1 is suspended\n${said.replaceAll('PLACE', `--module ${fixture('gated')}`).replace('\n\nThen', '\nThen')} --module ${fixture('gated')}\n`])
    expect((await command(['show', 'r-1', '--store', store])).out).toContain(said.replaceAll('PLACE', `--as-of 6 --store ${store}`))
    expect(JSON.parse((await start('--json')).out)).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval', step: '0', input: { amount: 50 } }] })
    expect(JSON.parse((await command(['show', 'r-1', '--store', store, '--json'])).out)).toMatchObject({
      waits: [{ type: 'approval', calls: [{ input: { amount: 50 } }], choices: [{ choice: 'approve' }, { choice: 'deny' }] }], steps: [{ id: '0', state: 'waiting' }],
    })
    expect(made()).toBe('')
  })

  it('is approved with the store alone, once, by somebody; resume makes it', async () => {
    await start()
    expect(await command(['approve', 'r-1', '0', '--by', 'ada', '--store', store])).toEqual({ code: 0, err: '', out: '0 of run r-1: approved\nIt goes on with\n  holdfast resume r-1\n' })
    const shown = (await command(['show', 'r-1', '--store', store])).out
    expect(shown).toContain('0: approved by ada, taken in by the next attempt')
    expect(shown).toContain('    decided: approved\n')
    expect(await command(['deny', 'r-1', '0', '--store', store])).toMatchObject({ code: 2, err: expect.stringContaining('NOTHING_TO_APPROVE: step "0" of run "r-1" was answered already') })
    expect(await again(['resume', 'r-1', '--quiet', ...module])).toMatchObject({ code: 0, out: '{\n  "refunded": 50\n}\n' })
    expect((await command(['show', 'r-1', '--store', store])).out).toContain('0: approved by ada, taken in by attempt 2, used by 0')
    expect(made()).toBe('refund 50\n')
  })

  it('is approved with other arguments, and goes on at once where that is asked for', async () => {
    await start()
    expect(await again(['approve', 'r-1', '0', '--input', '{"amount":20}', '--resume', ...module])).toMatchObject({ code: 0, out: '{\n  "refunded": 20\n}\n', err: expect.stringMatching(/approval-decided +tool refund {2}0 {2}approved\n/) })
    expect(made()).toBe('refund 20\n')
  })

  it('is denied, with a reason that the agent is told', async () => {
    await start()
    const { code, out } = await command(['deny', 'r-1', '0', '--reason', 'over the limit', '--json', '--store', store])
    expect([code, JSON.parse(out)]).toEqual([0, { runId: 'r-1', step: '0', answer: 'deny', resume: 'holdfast resume r-1' }])
    expect(await again(['resume', 'r-1', '--quiet', ...module])).toMatchObject({ code: 0, out: 'tool "refund" was denied: over the limit. It was not called\n' })
    expect((await command(['show', 'r-1', '--store', store])).out).toMatch(/0 failed: HoldfastError: tool "refund" was denied: over the limit/)
    expect(made()).toBe('')
  })

  it.each([
    ['arguments that are not JSON', ['approve', 'r-1', '0', '--input', '{a}'], 'USAGE: --input is not JSON'],
    ['a step that does not wait', ['approve', 'r-1', '9'], 'NOTHING_TO_APPROVE: step "9" of run "r-1" does not wait for approval'],
    ['a run that is not there', ['deny', 'r-2', '0'], 'UNKNOWN_RUN'],
    ['no step', ['deny', 'r-1'], 'USAGE'],
    ['a reason that is too long', ['deny', 'r-1', '0', '--reason', 'x'.repeat(70_000)], 'VALUE_TOO_LARGE: reason takes 70002 bytes as JSON, the limit is 65536'],
    ['somebody with a name that is too long', ['approve', 'r-1', '0', '--by', 'x'.repeat(2_000)], 'VALUE_TOO_LARGE: by takes 2002 bytes as JSON, the limit is 1024'],
  ])('is not answered by %s', async (_, argv, error) => {
    await start()
    expect(await command([...argv, '--store', store])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(error) })
    expect(await again(['resume', 'r-1', '--quiet', ...module])).toMatchObject({ code: 3 })
  })
})

describe('a secret in what is said with the store alone', () => {
  const SECRET = 'sk_live_1234567890'
  const input = `{"amount":"${SECRET}"}`
  beforeEach(async () => {
    vi.stubEnv('FIXTURE_SECRET', SECRET)
    await again(['run', 'gated', '--id', 'r-1', '--input', input, '--quiet', ...module])
  })
  const bytes = (): string => ['', '-wal'].map((end) => (existsSync(store + end) ? readFileSync(store + end, 'latin1') : '')).join('')

  it.each([
    ['approve --input', ['approve', 'r-1', '0', '--input', input], '--input'],
    ['approve --by', ['approve', 'r-1', '0', '--by', `ada with ${SECRET}`], '--by'],
    ['deny --reason', ['deny', 'r-1', '0', '--reason', `${SECRET} leaked`], '--reason'],
    ['deny --by', ['deny', 'r-1', '0', '--reason', 'no', '--by', `ada with ${SECRET}`], '--by'],
  ])('(%s) is refused until its value is given, and stored by its name then', async (_, argv, options) => {
    const say = (secrets?: object): ReturnType<typeof command> => command([...argv, '--store', store], { env: secrets === undefined ? {} : { HOLDFAST_SECRETS: JSON.stringify(secrets) } })
    expect(await say()).toMatchObject({ code: 2, out: '', err: expect.stringMatching(new RegExp(`SECRET_MISSING: run "r-1" has named secrets \\(TOKEN\\): one of them in ${options} would be stored in the clear[^]*HOLDFAST_SECRETS`)) })
    expect(await say({ OTHER: SECRET })).toMatchObject({ code: 2, err: expect.stringMatching(/SECRET_MISSING: HOLDFAST_SECRETS does not give TOKEN/) })
    expect(await say({ TOKEN: 'another-value', OTHER: SECRET })).toMatchObject({ code: 2, err: expect.stringMatching(/SECRET_MISSING: --[^]* OTHER of HOLDFAST_SECRETS/) })
    expect(await say({ TOKEN: SECRET })).toMatchObject({ code: 0 })
    expect(bytes()).not.toContain(SECRET)
    const { out } = await command(['show', 'r-1', '--store', store])
    expect(out).toContain('{{secret:TOKEN}}')
    expect(out).not.toContain(SECRET)
    expect(await again(['resume', 'r-1', '--quiet', ...module])).toMatchObject({ code: 0 })
    expect(bytes()).not.toContain(SECRET)
  })

  it.each([
    ['who says so, in few letters', ['approve', 'r-1', '0', '--by', 'ada']],
    ['numbers and short texts', ['approve', 'r-1', '0', '--input', '{"amount":20,"unit":["EUR"]}', '--by', 'ada']],
    ['a short reason', ['deny', 'r-1', '0', '--reason', 'no']],
    ['nothing', ['deny', 'r-1', '0']],
  ])('is in none that is shorter than a secret can be: %s needs no values', async (_, argv) => {
    expect(await command([...argv, '--store', store])).toMatchObject({ code: 0 })
  })

  it('is given to the runner by the module, which knows its own', async () => {
    expect(await again(['approve', 'r-1', '0', '--input', input, '--by', SECRET, '--resume', '--quiet', ...module])).toMatchObject({ code: 0 })
    expect(made()).toBe(`refund ${SECRET}\n`)
    expect(bytes()).not.toContain(SECRET)
  })
})
