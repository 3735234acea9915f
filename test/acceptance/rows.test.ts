/** Each situation has its tests, the tests are there, and the docs say so. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { titlesIn } from '../support/titles.ts'
import { COMPLETE, OPEN, ROWS, table } from './rows.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const list = `${root}../shared/ACCEPTANCE.md`
const isThere = existsSync(list)

/** Ids of the situations, as `C16b`. */
const idsIn = (text: string): string[] => [...text.matchAll(/^\| ([A-Z]\d+[a-z]?) \|/gm)].map(([, id]) => id!)

describe('the situations', () => {
  it('stand here once each', () => {
    const ids = [...ROWS.map(({ id }) => id), ...Object.keys(OPEN)]
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  })

  it.skipIf(!isThere)(isThere ? 'are all that the list of them has' : 'are not compared: there is no ../shared/ACCEPTANCE.md', () => {
    const all = idsIn(readFileSync(list, 'utf8'))
    const here = [...ROWS.map(({ id }) => id), ...Object.keys(OPEN)]
    expect(all.filter((id) => COMPLETE.some((section) => id.startsWith(section)) && !here.includes(id))).toEqual([])
    expect(here.filter((id) => !all.includes(id))).toEqual([])
  })

  it.each(ROWS.map((row) => [row.id, row.what, row] as const))('%s (%s) have their tests', (_id, _what, { tests }) => {
    const missing = Object.entries(tests).flatMap(([file, titles]) => {
      if (!existsSync(root + file)) return [`${file} is not there`]
      const there = titlesIn(file)
      return titles.filter((title) => !there.has(title)).map((title) => `${file}: ${title}`)
    })
    expect(missing).toEqual([])
    expect(Object.values(tests).flat()).not.toEqual([])
  })

  it('stand in docs/testing.md with them', () => {
    expect(readFileSync(`${root}docs/testing.md`, 'utf8')).toContain(table())
  })
})
