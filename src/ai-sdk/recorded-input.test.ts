import { expect, it } from 'vitest'
import { isPart, watched } from './recorded-input.ts'

const RECORDED = { order: '7', lines: [{ sku: 'a', tags: ['x'] }], at: new Date(0), note: null }

it.each<[string, (input: typeof RECORDED & { currency?: string; ref?: { order: string } }) => unknown, unknown, boolean]>([
  ['what is there', ({ order }) => order, '7', false],
  ['what is there, deep inside', ({ lines }) => lines.map(({ sku, tags }) => sku + tags.join()).join(), 'ax', false],
  ['a date', ({ at }) => at.getTime(), 0, false],
  ['all of it', (input) => JSON.stringify(input), JSON.stringify(RECORDED), false],
  ['its names', (input) => Object.keys(input).length, 4, false],
  ['what is not there', ({ currency }) => currency ?? 'none', 'none', true],
  ['what is not there, deep inside', ({ lines }) => (lines[0] as { price?: number }).price ?? 0, 0, true],
  ['a group that is not there', ({ ref }) => ref?.order ?? '', '', true],
])('code that asks for %s', (_, code, gives, isLacking) => {
  const [value, lacks] = watched(RECORDED)
  expect(code(value as typeof RECORDED)).toBe(gives)
  expect(lacks()).toBe(isLacking)
})

it.each<[unknown, unknown, boolean]>([
  [{ order: '7' }, { order: '7', currency: 'EUR' }, true],
  [{ order: '7' }, { order: '8', currency: 'EUR' }, false],
  [{ ref: { order: '7' } }, { ref: { order: '7', by: 'ada' } }, true],
  [{ orders: ['7', '8'] }, { orders: ['7', '8'] }, true],
  [{ orders: ['7', '8'] }, { orders: ['8', '7'] }, false],
  [{ at: new Date(0) }, { at: new Date(1) }, false],
  ['7', '7', true],
  [{}, undefined, false],
])('%j is a part of %j: %s', (part, whole, is) => {
  expect(isPart(part, whole)).toBe(is)
})
