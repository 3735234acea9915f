/** A durable model and durable tools, watched from outside: whose answer comes back is checked at each call. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ToolExecutionOptions, ToolSet } from 'ai'
import { durable, durableTools } from '../../src/index.ts'
import { approvalOf, madeWith } from './approval.ts'
import { claimed } from './claim.ts'
import type { Place } from './place.ts'
import type { ToolName } from './program.ts'
import { answerTo, digest, scriptedModel, type Answer, type Arguments } from './scripted-model.ts'
import { never, type Session } from './session.ts'
import { ruleOf, toolsOf } from './tools.ts'
import type { CallSpec } from './call.ts'

type Content = { readonly type: string; readonly text?: string; readonly toolCallId?: string; readonly input?: string }

/** Text and calls of a response, as one string. */
const gist = (content: readonly Content[]): string =>
  JSON.stringify([
    content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    ...content.flatMap((part) => (part.type === 'tool-call' ? [[part.toolCallId, part.input]] : [])),
  ])

/** `bound`: through the run, else as at module level. `twins`: how many requests at this place cannot be told apart. */
export function watchedModel(place: Place, bound: boolean, twins = 1): LanguageModelV4 & { readonly asked: number } {
  const { session, run, path, line } = place
  const raw = scriptedModel(session)
  const model = bound ? run.model(raw) : durable(raw)
  let asked = 0
  const spec = (): CallSpec => ({
    position: `${path}#${asked++}`,
    kind: 'model',
    repeatable: true,
    input: undefined,
    ...(twins > 1 && { twins }),
  })
  const gistOf = ({ text, calls }: Answer): string =>
    gist([{ type: 'text', text }, ...calls.map(({ node, input }) => ({ type: 'tool-call', toolCallId: node.id, input }))])
  const check = ({ prompt }: LanguageModelV4CallOptions, position: string) => {
    // At once: the caller's array of messages grows.
    const first = answerTo(session.program, prompt)
    const messages = [...prompt]
    return ({ gist: got }: { gist: string }): string | undefined => {
      if (got === gistOf(first)) return undefined
      const { world } = session
      for (let nth = 2; first.turn?.fickle && nth <= world.answersAt(position); nth++) {
        if (got !== gistOf(answerTo(session.program, messages, nth))) continue
        world.altered = true
        // What followed the answer that was lost followed another one.
        if (world.get(position)!.isLost) world.loose = true
        return undefined
      }
      return `expected ${gistOf(first)}, got ${got}`
    }
  }

  return {
    specificationVersion: 'v4',
    provider: raw.provider,
    modelId: raw.modelId,
    supportedUrls: {},
    get asked() {
      return asked
    },
    async doGenerate(options) {
      let response
      const request = spec()
      await claimed(session, line, request, async () => {
        response = await model.doGenerate(options)
        return { gist: gist(response.content) }
      }, check(options, request.position))
      return response!
    },
    doStream: (options) => new Promise((opened, failed) => {
      const request = spec()
      // The call is over when its stream is.
      const whole = async (): Promise<{ gist: string }> => {
        const { stream, ...rest } = await model.doStream(options)
        const content: Content[] = []
        const out = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({}, undefined, { highWaterMark: Infinity })
        opened({ ...rest, stream: out.readable })
        const writer = out.writable.getWriter()
        try {
          for await (const part of stream) {
            if (session.frozen) return never()
            session.timeline.activity++
            // Its parts are used before its end.
            line.saw(session.isFresh(request.position) ? session.world.now : session.world.get(request.position)!.cameAbout)
            if (part.type === 'text-delta') content.push({ type: 'text', text: part.delta })
            else if (part.type === 'tool-call') content.push(part)
            await writer.write(part)
          }
        } catch (error) {
          await writer.abort(error)
          throw error
        }
        await writer.close()
        return { gist: gist(content) }
      }
      claimed(session, line, request, whole, check(options, request.position)).catch(failed)
    }),
  }
}

/** `turn`: which response of its loop is being worked off. */
export function watchedTools(
  place: Place,
  { bound, drifts }: { readonly bound: boolean; readonly drifts?: boolean },
  turn: () => number,
  runPart: (input: Arguments, position: string) => Promise<unknown>,
): ToolSet {
  const { session, run, path, line } = place
  const { tools, policies } = toolsOf(session, runPart)
  const wrapped = bound ? run.tools(tools, policies) : durableTools(tools, policies)
  const occurrences = new Map<string, number>()
  return Object.fromEntries(Object.entries(wrapped).map(([name, tool]) => {
    const execute = (input: Arguments, options: ToolExecutionOptions<unknown>): Promise<unknown> => {
      const call = `${path}#${turn()}/${name}:${options.toolCallId}:${digest(input).slice(0, 4)}`
      const nth = occurrences.get(call) ?? 0
      occurrences.set(call, nth + 1)
      const position = `${call}:${nth}`
      const approval = approvalOf(input)
      const made = madeWith(session.world.get(position), input)
      const rule = ruleOf(session.program, name as ToolName, made)
      const spec: CallSpec = { position, kind: 'tool', what: name, ...rule, input: made, does: input.does, ...asAsked(session, position, ruleOf(session.program, name as ToolName, input)), ...(drifts && { drifting: path }), ...(approval && { approval }) }
      const ask = (): Promise<unknown> => (tool.execute as unknown as (input: unknown, options: unknown) => Promise<unknown>)(input, options)
      return claimed(session, line, spec, ask, (value) => mistakenFor(position, [input, approval?.made], value, session.world.allowedAnswers(position)))
    }
    return [name, { ...tool, execute } as ToolSet[string]]
  }))
}

/** Somebody has agreed to other arguments since the attempt began: it may not know of them, and what it makes of the call stands in later ones. */
function asAsked({ world, answeredBefore }: Session, position: string, { effect }: Pick<CallSpec, 'effect'>): Pick<CallSpec, 'effectAsAsked'> {
  const call = world.get(position)
  const isLate = call?.spec.effectAsAsked !== undefined || (call?.mayBeAnswered && !answeredBefore.has(position))
  return isLate && effect !== undefined ? { effectAsAsked: effect } : {}
}

function mistakenFor(position: string, inputs: readonly unknown[], value: unknown, allowed: ReadonlySet<string>): string | undefined {
  const { of, input: answered } = value as { of?: string; input?: unknown }
  if (of === position && inputs.some((input) => JSON.stringify(answered) === JSON.stringify(input))) return undefined
  if (of !== undefined && allowed.has(of)) return undefined
  return `answered with ${JSON.stringify(value)}`
}
