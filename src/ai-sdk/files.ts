/**
 * Files behind links in a request: fetched when the request is sent, and kept, so that neither a replay nor what comes after it
 * depends on links that have expired meanwhile (C30). Left to the loop above, they are fetched before the model is asked,
 * also where the answer is in the journal.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message, LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart, SharedV4FileData } from '@ai-sdk/provider'
import { hash } from '../core/hash.ts'
import { HoldfastError } from '../errors.ts'
import { decode, encode, type Encoded } from '../journal/codec.ts'
import type { KeptFile } from '../journal/entry.ts'
import type { Attempt } from '../run/attempt.ts'
import { messageOf } from '../run/readable.ts'

export interface DownloadedFile {
  readonly data: Uint8Array
  /** The `content-type` of the response, if there was one. */
  readonly mediaType?: string | undefined
}

/** Fetches what a link leads to. What `createDownload()` of `ai` gives is one. */
export type DownloadFile = (request: { url: URL; abortSignal?: AbortSignal }) => PromiseLike<DownloadedFile>

/** What a durable model says that it supports: any link on the web, so that the loop above leaves fetching to it. */
export async function everyLink(supported: LanguageModelV4['supportedUrls']): Promise<Record<string, RegExp[]>> {
  const own = await supported
  return { ...own, '*/*': [...(own['*/*'] ?? []), /^https?:\/\//i] }
}

type Files = Map<string, DownloadedFile>
const filesOf = new WeakMap<Attempt, Files>()

export class LinkedFiles {
  readonly #attempt: Attempt
  readonly #model: LanguageModelV4
  readonly #download: DownloadFile | undefined
  /** What this request fetched, to be kept with its record. */
  readonly fetched = new Map<string, KeptFile>()

  constructor(attempt: Attempt, model: LanguageModelV4, download: DownloadFile | undefined) {
    this.#attempt = attempt
    this.#model = model
    this.#download = download
  }

  /** The request with the bytes of each file whose link the model does not take. */
  async fill(call: LanguageModelV4CallOptions, signal: AbortSignal): Promise<LanguageModelV4CallOptions> {
    const supported = await this.#model.supportedUrls
    const file = async <PART extends { data: SharedV4FileData; mediaType: string }>(part: PART): Promise<PART> => {
      if (part.data.type !== 'url' || !isOnTheWeb(part.data.url) || isSupported(part.data.url, part.mediaType, supported)) return part
      const { data, mediaType } = await this.#get(part.data.url, signal)
      return { ...part, data: { type: 'data', data }, mediaType: narrower(part.mediaType, mediaType) }
    }
    return { ...call, prompt: await Promise.all(call.prompt.map((message) => filled(message, file))) }
  }

  async #get(url: URL, signal: AbortSignal): Promise<DownloadedFile> {
    // The journal does not keep links: they are often as good as a password.
    const key = hash(this.#attempt.secrets?.hide(url.href) ?? url.href)
    let files = filesOf.get(this.#attempt)
    if (!files) filesOf.set(this.#attempt, (files = new Map()))
    const known = files.get(key) ?? this.#kept(key)
    const file = known ?? (await this.#fetch(url, signal))
    files.set(key, file)
    if (!known) this.#keep(key, url, file)
    return file
  }

  #kept(key: string): DownloadedFile | undefined {
    const kept = this.#attempt.history.files.get(key)
    return kept && (decode(kept, 'file') as DownloadedFile)
  }

  #keep(key: string, url: URL, { data, mediaType }: DownloadedFile): void {
    let file: Encoded
    try {
      file = encode({ data, ...(mediaType !== undefined && { mediaType }) }, { path: `file at ${shown(url)}`, maxBytes: this.#attempt.policies.maxResultBytes })
    } catch (error) {
      this.#attempt.warn('FILE_NOT_KEPT', `${messageOf(error)}; a request after a resume fetches it again`)
      return
    }
    this.fetched.set(key, { link: key, file })
  }

  async #fetch(url: URL, signal: AbortSignal): Promise<DownloadedFile> {
    try {
      const { data, mediaType } = await (this.#download ?? (await defaultDownload()))({ url, abortSignal: signal })
      return { data, mediaType }
    } catch (error) {
      if (signal.aborted || HoldfastError.isInstance(error)) throw error
      const how = error instanceof Error ? error.message.replaceAll(url.href, shown(url)) : messageOf(error)
      throw new Error(`the file at ${shown(url)} could not be fetched: ${how}. A durable model fetches files by itself: what needs a function of your own takes it as durable(model, { download })`, { cause: error })
    }
  }
}

async function defaultDownload(): Promise<DownloadFile> {
  const { createDownload } = await import('ai').catch((cause: unknown) => {
    throw new HoldfastError('MISSING_PEER', 'files behind links are fetched with the package ai, which is not installed', { cause, advice: 'Install it, or pass durable(model, { download })' })
  })
  return createDownload()
}

/** Without query and credentials. */
const shown = ({ origin, pathname }: URL): string => `${origin}${pathname}`

const isOnTheWeb = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'

/** `image/*` and `image` say less than `image/png`: then the answer's own type counts, where it is one of these. */
function narrower(asked: string, got: string | undefined): string {
  const [top, sub] = asked.split('/')
  const isWhole = sub !== undefined && sub !== '*'
  return !isWhole && got !== undefined && (top === '*' || got.startsWith(`${top}/`)) ? got.split(';')[0]!.trim() : asked
}

/** As the AI SDK decides it: patterns by media type, `*` and `image/*` among them. */
export function isSupported({ href }: URL, mediaType: string, supported: Readonly<Record<string, readonly RegExp[]>>): boolean {
  const asked = mediaType.toLowerCase()
  return Object.entries(supported).some(([type, patterns]) => fits(asked, type.toLowerCase()) && patterns.some((pattern) => href.search(pattern) !== -1))
}

function fits(asked: string, type: string): boolean {
  if (type === '*' || type === '*/*') return true
  const prefix = type.replace('*', '')
  if (!asked.includes('/')) return `${asked}/` === prefix
  return prefix.endsWith('/') ? asked.startsWith(prefix) : asked === prefix
}

type FileOf = <PART extends { data: SharedV4FileData; mediaType: string }>(part: PART) => Promise<PART>

/** Where the AI SDK looks for links: files of the user, and files in results of tools. */
export function hasLink({ role, content }: LanguageModelV4Message): boolean {
  if (role === 'system') return false
  return content.some((part) => {
    if (part.type === 'file') return role === 'user' && part.data.type === 'url'
    return part.type === 'tool-result' && part.output.type === 'content' && part.output.value.some((item) => item.type === 'file' && item.data.type === 'url')
  })
}

async function filled(message: LanguageModelV4Message, file: FileOf): Promise<LanguageModelV4Message> {
  if (!hasLink(message)) return message
  switch (message.role) {
    case 'user':
      return { ...message, content: await Promise.all(message.content.map((part) => (part.type === 'file' ? file(part) : part))) }
    case 'assistant':
      return { ...message, content: await Promise.all(message.content.map((part) => (part.type === 'tool-result' ? inResult(part, file) : part))) }
    case 'tool':
      return { ...message, content: await Promise.all(message.content.map((part) => (part.type === 'tool-result' ? inResult(part, file) : part))) }
    case 'system':
      return message
  }
}

async function inResult(part: LanguageModelV4ToolResultPart, file: FileOf): Promise<LanguageModelV4ToolResultPart> {
  if (part.output.type !== 'content') return part
  const value = await Promise.all(part.output.value.map((item) => (item.type === 'file' ? file(item) : item)))
  return { ...part, output: { ...part.output, value } satisfies LanguageModelV4ToolResultOutput }
}
