/** R8: what a fingerprint sees. */
import type { Mutant } from '../mutant.ts'

export const fingerprint: readonly Mutant[] = [
  {
    name: 'changed configuration diverges',
    rule: 'R8',
    wrong: 'A deploy that changes a setting throws away what runs have recorded.',
    file: 'src/replay/match.ts',
    edits: [{ from: 'if (isChange(branch, alike, model, configsBefore)) {', to: 'if (isChange(branch, alike, model, configsBefore) && !branch) {' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'replays by default, naming what changed' },
  },
  {
    name: 'configuration not compared',
    rule: 'R8',
    wrong: 'Requests that differ in their configuration alone get each other\'s answers.',
    file: 'src/replay/match.ts',
    edits: [{ from: 'asksTheSame(r, claim) && isUnder(r, model?.config)', to: 'asksTheSame(r, claim)' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'three reviewers with one prompt and other instructions get no swapped answers, also after one text is edited (C34)' },
  },
  {
    name: 'system text is conversation',
    rule: 'R8',
    wrong: 'Another system text counts as another conversation, so every run diverges after a change of wording.',
    file: 'src/ai-sdk/conversation.ts',
    edits: [{ from: 'return first === -1 ? prompt.length : first', to: 'return first === -1 ? prompt.length : 0' }],
    caughtBy: { file: 'test/divergence.test.ts', name: 'replays by default, naming what changed' },
  },
  {
    name: 'answer for a tool that is gone',
    rule: 'R8',
    wrong: 'A recorded response is used although the tool that it asks for does not exist any more.',
    file: 'src/replay/match.ts',
    edits: [{ from: '!wouldBeRefused(', to: '![].includes(' }],
    caughtBy: { file: 'src/replay/machine-divergence.test.ts', name: 'diverges by itself when a tool that the response asks for is gone' },
  },
  {
    name: 'order of keys counts',
    rule: 'R8',
    wrong: 'The same arguments in another order count as others.',
    file: 'src/journal/canonical.ts',
    edits: [{ from: 'return keys.sort().map(', to: 'return keys.map(' }],
    caughtBy: { file: 'src/journal/fingerprint.test.ts', name: 'is the same whatever the order of keys, and differs with anything else' },
  },
  {
    name: 'cache settings count',
    rule: 'R8',
    wrong: 'A prompt that is cached in another way counts as another prompt.',
    file: 'src/ai-sdk/provider-options.ts',
    edits: [{ from: '!CACHE_SETTINGS.has(name)', to: '!CACHE_SETTINGS.has(`not ${name}`)' }],
    caughtBy: { file: 'src/ai-sdk/provider-options.test.ts', name: 'openai.promptCacheKey does not' },
  },
  {
    name: 'results in the order in which they came',
    rule: 'R8',
    wrong: 'A conversation is another one where results of calls that ran side by side came in another order.',
    file: 'src/ai-sdk/conversation.ts',
    edits: [{ from: 'content.length < 2 ? content : content.toSorted(', to: 'content.length < 1e9 ? content : content.toSorted(' }],
    caughtBy: { file: 'src/ai-sdk/conversation.test.ts', name: 'count in whatever order they came, with whose they are' },
  },
]
