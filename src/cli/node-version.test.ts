import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LOWEST_NODE, tooOld } from './node-version.ts'

describe('tooOld', () => {
  it.each([
    ['20.20.2', true],
    ['22.12.9', true],
    ['22.13.0', false],
    ['22.100.0', false],
    ['24.0.0', false],
    ['100.0.0', false],
    ['9.11.2', true],
    ['22.13.0-rc.1', false],
  ])('says of Node %s whether it is too old: %s', (version, isOld) => {
    expect(tooOld(version)).toBe(isOld ? `holdfast needs Node 22.13 or newer, and this is Node ${version}.` : '')
  })

  it('agrees with engines of package.json', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } }
    expect(engines.node).toBe(`>=${LOWEST_NODE}`)
  })
})
