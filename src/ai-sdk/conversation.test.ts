import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { BranchConversations, Conversations } from './conversation.ts'

const user = (text: string): LanguageModelV4Message => ({ role: 'user', content: [{ type: 'text', text }] })
const says = (text: string): LanguageModelV4Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const calls = (toolCallId: string): LanguageModelV4Message => ({ role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'look', input: {} }] })
const result = (toolCallId: string): LanguageModelV4Message => ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value: 'seen' } }] })

/** The messages as new objects around the same parts; `counted` is told each time one is looked at. */
const anew = (messages: LanguageModelV4Prompt, counted: () => void = () => {}): LanguageModelV4Prompt =>
  messages.map(({ role, content }) => ({
    get role() {
      counted()
      return role
    },
    content,
  })) as LanguageModelV4Prompt

const prompt = (turns: number): LanguageModelV4Message[] => Array.from({ length: turns }, (_, i) => [user(`question ${i}`), says(`answer ${i}`)]).flat()

/** Asks, as the step of this name. */
function ask(conversations: Conversations, step: string, messages: LanguageModelV4Prompt): ReturnType<Conversations['read']> {
  const conversation = conversations.read(messages)
  conversation.claimedBy(step)
  return conversation
}

describe('a conversation that goes on', () => {
  it('looks at each of its messages once, whatever was asked before, and once more at what is new', () => {
    const conversations = new Conversations()
    for (let turns = 1; turns <= 100; turns++) {
      let looks = 0
      ask(conversations, `${turns}`, anew(prompt(turns), () => looks++))
      if (turns > 1) expect(looks).toBeLessThan(2 * turns + 20)
    }
  })

  it('looks at few more where two take turns', () => {
    const conversations = new Conversations()
    const other = (turns: number): LanguageModelV4Message[] => [user('the other one'), ...prompt(turns)]
    for (let turns = 1; turns <= 100; turns++) {
      let looks = 0
      ask(conversations, `a${turns}`, anew(prompt(turns), () => looks++))
      const { carriesOn } = ask(conversations, `b${turns}`, anew(other(turns), () => looks++))
      if (turns > 1) expect([looks < 4 * turns + 40, carriesOn]).toEqual([true, `b${turns - 1}`])
    }
  })

  it('is described by what it adds to the one before', () => {
    const conversations = new Conversations()
    ask(conversations, '0', prompt(1))
    expect(ask(conversations, '1', anew(prompt(2))).prompt).toMatchObject({ length: 4, keep: 2, base: '0', added: [['user', expect.any(String)], ['assistant', expect.any(String)]] })
  })

  it('has the fingerprint and the messages that it has by itself', () => {
    const conversations = new Conversations()
    for (let turns = 1; turns <= 5; turns++) {
      const [carried, alone] = [ask(conversations, `${turns}`, prompt(turns)), new Conversations().read(prompt(turns))]
      expect([carried.fingerprint, carried.messages()]).toEqual([alone.fingerprint, alone.messages()])
    }
  })
})

describe('a conversation that leaves an earlier one', () => {
  const conversations = new Conversations()
  ask(conversations, '0', prompt(3))
  const other = [...prompt(2), user('something else')]
  const left = ask(conversations, '1', other)

  it('keeps what they share', () => {
    expect(left.prompt).toMatchObject({ length: 5, keep: 4, base: '0', added: [['user', expect.any(String)]] })
    expect(left.fingerprint).toBe(new Conversations().read(other).fingerprint)
    expect(left.carriesOn).toBeUndefined()
  })

  it('does not change the earlier one, which can be carried on as before', () => {
    const next = ask(conversations, '2', prompt(4))
    expect(next).toMatchObject({ carriesOn: '0', prompt: { keep: 6, base: '0' }, fingerprint: new Conversations().read(prompt(4)).fingerprint })
  })

  it('is carried on itself', () => {
    expect(ask(conversations, '3', [...other, says('yes')])).toMatchObject({ carriesOn: '1', prompt: { keep: 5, base: '1' } })
  })

  it('is described by all that no known step has, where the one before became none', () => {
    const fresh = new Conversations()
    ask(fresh, '0', prompt(1))
    fresh.read(prompt(2))
    expect(fresh.read(prompt(3)).prompt).toMatchObject({ length: 6, keep: 2, base: '0', added: { length: 4 } })
  })
})

describe('results of calls that ran side by side', () => {
  const both = (...ids: string[]): LanguageModelV4Message => ({ role: 'tool', content: ids.flatMap((id) => result(id).content as never) })
  const of = (...messages: LanguageModelV4Message[]): string | null => new Conversations().read([user('look'), calls('a'), ...messages]).fingerprint

  it('count in whatever order they came, with whose they are', () => {
    expect(of(both('a', 'b'))).toBe(of(both('b', 'a')))
    expect(of(both('a', 'b'))).not.toBe(of(both('a', 'c')))
    expect(of(both('a', 'b'))).not.toBe(of(both('a'), both('b')))
  })
})

describe('what it carries on', () => {
  it('is the longest one that it begins with, not the newest', () => {
    const conversations = new Conversations()
    ask(conversations, 'long', prompt(3))
    ask(conversations, 'short', prompt(1))
    expect(ask(conversations, 'next', prompt(4)).carriesOn).toBe('long')
  })

  it('is not the same one, asked once more', () => {
    const conversations = new Conversations()
    ask(conversations, '0', prompt(1))
    ask(conversations, '1', prompt(2))
    expect(ask(conversations, '2', prompt(2)).carriesOn).toBe('0')
  })
})

describe('calls of a conversation', () => {
  it('are whole, and the messages those that were asked, where each has its result, also later', () => {
    const conversations = new Conversations()
    for (const messages of [[user('go'), calls('a'), result('a')], [user('go'), calls('a'), result('a'), calls('b'), result('b')]]) {
      const { whole, repaired, results } = conversations.read(messages)
      expect([whole(), repaired, results.at(-1)]).toEqual([messages, [], messages.length === 3 ? 'a' : 'b'])
    }
  })

  it('are given a result where one has none, at the end or before other messages, each time', () => {
    const conversations = new Conversations()
    ask(conversations, '0', [user('go')])
    for (const rest of [[], [user('go on')], [user('go on'), says('well')]]) {
      const { whole, repaired, fingerprint } = conversations.read([user('go'), calls('a'), ...rest])
      expect([repaired, whole().length, whole()[2]!.role]).toEqual([['a'], 3 + rest.length, 'tool'])
      expect(fingerprint).toBe(new Conversations().read(whole()).fingerprint)
    }
  })

  it('are left alone where a result comes from elsewhere', () => {
    const messages = [user('go'), calls('a'), user('wait'), result('a')]
    const { whole, repaired } = new Conversations().read(messages)
    expect([whole(), repaired]).toEqual([messages, []])
  })
})

describe('links to files', () => {
  const file: LanguageModelV4Message = { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } }] }

  it('are remembered as long as the conversation goes on', () => {
    const conversations = new Conversations()
    const has = [[user('go')], [user('go'), file], [user('go'), file, says('nice')], [user('go'), says('nice')]].map((messages) => conversations.read(messages).hasLinks)
    expect(has).toEqual([false, true, true, false])
  })
})

describe('a message without a fingerprint', () => {
  it('leaves the conversation without one, from there on, and those before it as they were', () => {
    const conversations = new Conversations()
    ask(conversations, '0', prompt(1))
    const odd = { role: 'user', content: [{ type: 'text', text: 'x', providerOptions: { p: { f: () => {} } } }] } as unknown as LanguageModelV4Message
    expect(conversations.read([...prompt(1), odd, says('x')]).fingerprint).toBeNull()
    expect(conversations.read(prompt(2))).toMatchObject({ carriesOn: '0', prompt: { keep: 2, base: '0' } })
  })
})

describe('the conversations of branches', () => {
  it('are kept while their branch is open, and few are when it has ended', () => {
    const branches = new BranchConversations()
    const open = branches.of('open', () => false)
    const asked: string[] = []
    for (let i = 0; i < 100; i++) branches.of(`b:${i}#0`, (path) => path !== 'open' && asked.push(path) > 0)
    expect(branches.of('open', () => false)).toBe(open)
    expect(asked.length).toBeGreaterThan(80)
  })
})
