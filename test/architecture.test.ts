import { describe, expect, it } from 'vitest'
import { ARROWS, brokenArrows } from './architecture/arrows.ts'
import { moduleOf, modulesOf } from './architecture/modules.ts'
import { strayWords } from './architecture/words.ts'

const sources = modulesOf('src')
const shipped = sources.filter(({ path }) => !/\.test\.ts$|\/fixtures\/|\/scenario\.ts$/.test(path))

describe('the house', () => {
  it('has arrows that go down only', () => {
    expect(brokenArrows(shipped)).toEqual([])
  })

  it('has no arrows of folders that are gone', () => {
    const areas = new Set(sources.map(({ path }) => path.split('/')[1]))
    expect(Object.keys(ARROWS).filter((area) => !areas.has(area))).toEqual([])
  })

  it('waits, tells the time and is random in core alone, and prints nothing by itself', () => {
    expect(strayWords(sources.filter(({ path }) => !path.endsWith('.test.ts')))).toEqual([])
  })

  it('has no file over 400 lines', () => {
    const files = [...sources, ...['test', 'scripts', 'demo'].flatMap(modulesOf)]
    expect(files.map(({ path, text }) => `${path}: ${text.split('\n').length - 1}`).filter((line) => Number(line.split(': ')[1]) > 400)).toEqual([])
  })
})

describe('the judge of the house', () => {
  const broken = (path: string, text: string): string[] => brokenArrows([moduleOf(path, text)])

  it.each([
    ['an arrow up', 'src/core/clock.ts', "import { HoldfastError } from '../errors.ts'", 'src/core/clock.ts knows src/errors.ts'],
    ['a value where types are known', 'src/replay/match.ts', "import { encode } from '../journal/codec.ts'", 'src/replay/match.ts knows src/journal/codec.ts'],
    ['one value among types', 'src/effects/doubt.ts', "import { type A, encode } from '../journal/codec.ts'", 'src/effects/doubt.ts knows src/journal/codec.ts'],
    ['an import over several lines', 'src/run/x.ts', "import {\n  a,\n  b,\n} from '../runner/runner.ts'", 'src/run/x.ts knows src/runner/runner.ts'],
    ['an export', 'src/run/x.ts', "export { a } from '../runner/runner.ts'", 'src/run/x.ts knows src/runner/runner.ts'],
    ['an import for its effect', 'src/run/x.ts', "import '../runner/runner.ts'", 'src/run/x.ts knows src/runner/runner.ts'],
    ['an import in a call', 'src/run/x.ts', "const a = await import('../stores/sqlite.ts')", 'src/run/x.ts knows src/stores/sqlite.ts'],
    ['a type of a concrete store', 'src/run/x.ts', "import type { A } from '../stores/sqlite.ts'", 'src/run/x.ts knows src/stores/sqlite.ts (types)'],
    ['a package', 'src/ai-sdk/x.ts', "import { tool } from 'ai'", 'src/ai-sdk/x.ts knows ai'],
    ['a folder without arrows', 'src/other/x.ts', '', 'src/other/x.ts: the folder other has no arrows'],
  ])('sees %s', (_, path, text, complaint) => {
    expect(broken(path, text)).toEqual([complaint])
  })

  it.each([
    ['types where types are known', 'src/replay/match.ts', "import type { A } from '../journal/codec.ts'\nimport { type B, type C } from '../journal/entry.ts'"],
    ['types of a package', 'src/ai-sdk/x.ts', "import type { Tool } from 'ai'"],
    ['modules of Node', 'src/core/x.ts', "import { createHash } from 'node:crypto'"],
    ['what a comment says', 'src/core/x.ts', "/**\n * import { a } from '../errors.ts'\n */\n// import '../errors.ts'"],
  ])('lets pass %s', (_, path, text) => {
    expect(broken(path, text)).toEqual([])
  })

  it.each([
    'setTimeout(f, 1)', 'setImmediate(f)', 'const t = Date.now()', 'new Date()',
    'Math.random()', 'randomUUID()', 'console.log(1)', 'AbortSignal.timeout(5)', "import { setTimeout } from 'node:timers/promises'",
  ])('sees %s', (line) => {
    expect(strayWords([moduleOf('src/replay/x.ts', `// a line\n${line}\n`)])).toHaveLength(1)
    expect(strayWords([moduleOf('src/replay/x.ts', `/** ${line} */\n// ${line}\n`)])).toEqual([])
  })

  it('lets the clock have its timer', () => {
    expect(strayWords([moduleOf('src/core/x.ts', 'setTimeout(f, 1)')])).toEqual([])
  })
})
