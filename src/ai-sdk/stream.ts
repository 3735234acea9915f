/** A live model stream as the code of a step: nothing is passed on before its first content, its finish only when it is recorded (R3, R13). */
import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import type { WorkContext } from '../run/step.ts'
import { asBroken, BrokenResponseError } from './broken.ts'
import { errorIn, refuseFailed, refuseHole } from './no-answer.ts'
import { PartsRecorder, type RecordedResponse, type Stamp } from './recording.ts'

/** Before these nothing of an answer has been seen, so a try that breaks can still be repeated silently. */
const PRELUDE: ReadonlySet<LanguageModelV4StreamPart['type']> = new Set([
  'stream-start', 'response-metadata', 'ping', 'raw', 'text-start', 'reasoning-start', 'tool-input-start',
  'custom', // @ai-sdk/anthropic sends one for `message_start`
] as const)

/**
 * The stream that the caller reads, fed by the step. Parts are kept until they are read: the step goes on whether or
 * not anybody reads.
 */
export class PassedOn {
  readonly #opened = Promise.withResolvers<LanguageModelV4StreamResult>()
  #controller: ReadableStreamDefaultController<LanguageModelV4StreamPart> | undefined
  #ended = false
  #disarm: () => void = () => {}
  /** Parts of an answer were passed on: the step cannot be repeated silently. */
  started = false

  /** Resolves with the stream once there is something to read, or an end. */
  get result(): Promise<LanguageModelV4StreamResult> {
    return this.#opened.promise
  }

  pass(part: LanguageModelV4StreamPart, headers: Record<string, string> | undefined): void {
    this.started = true
    this.#open(headers)
    if (!this.#ended) this.#controller!.enqueue(part)
  }

  /** Ends the stream with what was recorded: all of it, or the finish of what was passed on live. */
  finish(parts: readonly LanguageModelV4StreamPart[], headers: Readonly<Record<string, string>> | undefined): void {
    this.#end(headers, (controller) => {
      for (const part of this.started ? parts.filter(({ type }) => type === 'finish') : parts) controller.enqueue(part)
      controller.close()
    })
  }

  /** The caller sees an error, never a partial text that looks like a success. */
  fail(error: unknown): void {
    this.#end(undefined, (controller) => controller.error(error))
  }

  /** Fails with the reason of the signal, unless it has ended by then. */
  failOn(signal: AbortSignal): void {
    const fail = (): void => this.fail(signal.reason)
    if (signal.aborted) return fail()
    signal.addEventListener('abort', fail, { once: true })
    this.#disarm = () => signal.removeEventListener('abort', fail)
  }

  /** The first end counts. */
  #end(headers: Readonly<Record<string, string>> | undefined, how: (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => void): void {
    this.#open(headers)
    this.#disarm()
    if (this.#ended) return
    this.#ended = true
    how(this.#controller!)
  }

  #open(headers: Readonly<Record<string, string>> | undefined): void {
    if (this.#controller) return
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => {
        this.#ended = true
      },
    })
    this.#opened.resolve({ stream, ...(headers && { response: { headers } }) })
  }
}

/** Reads a live stream to its end, passing parts on; raw chunks only where the caller asked for them. Throws what the stream reports as an error. */
export async function readStream(live: LanguageModelV4StreamResult, out: PassedOn, stamp: Stamp, { signal, progress, begin, passesRaw }: Pick<WorkContext, 'signal' | 'progress' | 'begin'> & { readonly passesRaw?: boolean }): Promise<RecordedResponse> {
  const recorder = new PartsRecorder(stamp)
  const headers = live.response?.headers
  const prelude: LanguageModelV4StreamPart[] = []
  const reader = live.stream.getReader()
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  let finished = false
  /** What a gateway says beside the finish that it calls an error. */
  let failure: unknown
  try {
    for (;;) {
      const { done, value: part } = await reader.read()
      if (signal.aborted) throw signal.reason
      if (done) break
      progress()
      refuseHole(part)
      if (part.type === 'raw') failure ??= errorIn(part.rawValue)
      if (part.type === 'raw' && !passesRaw) continue
      if (part.type === 'error') throw asBroken(part.error)
      if (part.type === 'finish') refuseFailed(part.finishReason, failure)
      if (part.type === 'finish' && part.finishReason.unified === 'interrupted') throw new BrokenResponseError('it ended before it was finished')
      const isPrelude = !out.started && PRELUDE.has(part.type)
      if (!isPrelude) begin()
      if (!isPrelude && part.type !== 'finish') prelude.push(...recorder.missingMetadata())
      const kept = recorder.add(part)
      if (part.type === 'finish') finished = true
      else if (isPrelude) prelude.push(kept)
      else for (const next of [...prelude.splice(0), kept]) out.pass(next, headers)
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    reader.cancel().catch(() => {})
  }
  if (!finished) throw new BrokenResponseError('it ended before it was finished')
  return recorder.response(headers)
}
