/** The mechanism, tried with layouts that never were: there is only one so far. */
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrateFile, MIGRATIONS } from './migrate.ts'
import { FORMAT } from './schema.ts'

function file(): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  onTestFinished(() => database.close())
  database.exec(`CREATE TABLE journal (body TEXT); INSERT INTO journal VALUES ('{}'); PRAGMA user_version = 1`)
  return database
}
const state = (database: DatabaseSync): unknown => [
  (database.prepare('SELECT * FROM journal').all() as object[]).map((row) => ({ ...row })),
  (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version,
]
const steps = [`ALTER TABLE journal ADD COLUMN size INTEGER; UPDATE journal SET size = length(body)`, `ALTER TABLE journal RENAME COLUMN size TO bytes`]

describe('a file of an older layout', () => {
  it('is brought to the newest, each step once', () => {
    const database = file()
    migrateFile(database, steps)
    expect(state(database)).toEqual([[{ body: '{}', bytes: 2 }], 3])
    migrateFile(database, steps)
    expect(state(database)).toEqual([[{ body: '{}', bytes: 2 }], 3])
  })

  it('goes on from where it is', () => {
    const database = file()
    migrateFile(database, steps.slice(0, 1))
    migrateFile(database, steps)
    expect(state(database)).toEqual([[{ body: '{}', bytes: 2 }], 3])
  })

  it('stays as it was when a step fails', () => {
    const database = file()
    expect(() => migrateFile(database, [steps[0]!, 'ALTER TABLE missing RENAME TO found'])).toThrow('no such table')
    expect(state(database)).toEqual([[{ body: '{}' }], 1])
  })

  it('has a step from each layout to the next', () => {
    expect(MIGRATIONS.length).toBe(FORMAT - 1)
  })
})
