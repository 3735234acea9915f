/** R14, R15, R17: values, what is read back, growth. */
import type { Mutant } from '../mutant.ts'

export const journal: readonly Mutant[] = [
  {
    name: 'values as JSON',
    rule: 'R14',
    wrong: 'NaN and -0 come back as null and 0.',
    file: 'src/journal/snapshot.ts',
    edits: [{ from: 'if (!Number.isFinite(value) || Object.is(value, -0)) this.plain = false', to: '' }],
    caughtBy: { file: 'src/journal/codec.test.ts', name: 'NaN' },
  },
  {
    name: 'the live value shared',
    rule: 'R14',
    wrong: 'What is recorded changes with the object that it was made of.',
    file: 'src/journal/snapshot.ts',
    edits: [{ from: 'const copy = this.#copy(value, kind, depth)', to: "const copy = kind === 'object' ? (this.#copy(value, kind, depth), value) : this.#copy(value, kind, depth)" }],
    caughtBy: { file: 'src/journal/codec.test.ts', name: 'shares nothing with the value, nor what is decoded with what was written' },
  },
  {
    name: 'checksum not compared',
    rule: 'R15',
    wrong: 'A damaged journal is read as if it were whole.',
    file: 'src/journal/chain.ts',
    edits: [{ from: 'if (row.sum !== sumOf(tip, row.body))', to: "if (row.sum === '' && tip.sum !== '')" }],
    caughtBy: { file: 'src/journal/chain.test.ts', name: 'finds every single character that was changed' },
  },
  {
    name: 'newer format read',
    rule: 'R15',
    wrong: 'A journal that a newer build wrote is read by guess.',
    file: 'src/journal/chain.ts',
    edits: [{ from: 'format > formats.newest', to: 'format > formats.newest + 1e9' }],
    caughtBy: { file: 'src/journal/chain.test.ts', name: 'refuses the format of a newer build, also where that reckons its checksums in another way' },
  },
  {
    name: 'lost end not noticed',
    rule: 'R15',
    wrong: 'A journal that has lost its newest entries is driven on from before them.',
    file: 'src/journal/read.ts',
    edits: [{ from: 'ends >= Math.max(1, row.lastSeq)', to: 'ends >= 1' }],
    caughtBy: { file: 'test/bad-input.test.ts', name: 'is refused with both numbers, and nothing is driven or changed (R15)' },
  },
  {
    name: 'whole conversation in each record',
    rule: 'R17',
    wrong: 'Each model step writes down its whole conversation.',
    file: 'src/ai-sdk/conversation.ts',
    edits: [{ from: '.step = step', to: '.step = undefined' }],
    caughtBy: { file: 'test/growth.test.ts', name: 'is as long after sixty turns as after ten' },
  },
  {
    name: 'request in the record of its failure',
    rule: 'R17',
    wrong: 'The record of a failed request holds the whole request.',
    file: 'src/ai-sdk/model.ts',
    edits: [{ from: "if (!('requestBodyValues' in error)) return error", to: 'if (error) return error' }],
    caughtBy: { file: 'test/streams.test.ts', name: 'keep what the request was out of the record of its failure (R17)' },
  },
]
