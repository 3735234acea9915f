/** No SDK at all: fetch (Node's own, and undici's with limits) and Node's http, with the error for a status made by hand, as people do. */
import http from 'node:http'
import https from 'node:https'
import { Agent, fetch as undiciFetch, request as undiciRequest } from 'undici'
import type { Asking, Client, Dialect } from './client.ts'

/** `Object.assign(new Error(...), ...)` in one of the usual shapes. */
const byHand = (status: number, headers: unknown, body: string): Error =>
  Object.assign(new Error(`Request failed with status code ${status}`), { status, headers, body: body.startsWith('{') ? JSON.parse(body) as unknown : body })

const signalOf = ({ signal, timeoutMs }: Asking): { signal?: AbortSignal } => {
  const own = signal ?? (timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs))
  return own ? { signal: own } : {}
}

async function nodeFetch(asking: Asking): Promise<unknown> {
  const response = await fetch(`${asking.url}/v1/x`, { method: 'POST', body: '{}', ...signalOf(asking) })
  if (!response.ok) throw byHand(response.status, response.headers, await response.text())
  return response.text()
}

/** undici's own limits, for headers and for the body, instead of a signal. */
async function ownFetch({ url, signal, timeoutMs }: Asking): Promise<unknown> {
  const dispatcher = new Agent(timeoutMs === undefined ? {} : { headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  try {
    const response = await undiciFetch(`${url}/v1/x`, { method: 'POST', body: '{}', dispatcher, ...(signal && { signal }) })
    const text = await response.text()
    const { status, headers } = response
    if (!response.ok) throw Object.assign(new Error(`HTTP ${status}`), { response: { status, headers: Object.fromEntries(headers) }, responseBody: text })
    return text
  } finally {
    await dispatcher.destroy()
  }
}

async function ownRequest({ url, signal, timeoutMs }: Asking): Promise<unknown> {
  const dispatcher = new Agent(timeoutMs === undefined ? {} : { headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  try {
    const { statusCode, headers, body } = await undiciRequest(`${url}/v1/x`, { method: 'POST', body: '{}', dispatcher, ...(signal && { signal }) })
    const text = await body.text()
    if (statusCode >= 400) throw Object.assign(new Error(`Unexpected response code: ${statusCode}`), { statusCode, headers, body: text })
    return text
  } finally {
    await dispatcher.destroy()
  }
}

const nodeHttp = (asking: Asking): Promise<unknown> => new Promise((resolve, reject) => {
  const { request: ask } = asking.url.startsWith('https:') ? https : http
  const request = ask(`${asking.url}/v1/x`, { method: 'POST', agent: false, ...signalOf(asking) }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (more: string) => { text += more }).on('error', reject).on('end', () => {
      if ((response.statusCode ?? 0) < 400) return resolve(text)
      reject(Object.assign(new Error(`Unexpected server response: ${response.statusCode}`), { statusCode: response.statusCode, headers: response.headers, body: text }))
    })
  })
  request.on('error', reject).end('{}')
})

/** None of them knows an API, so each can be given the errors of any. */
export const plainClients = (dialect: Dialect): readonly Client[] => [
  { name: 'fetch', dialect, generate: nodeFetch },
  { name: 'undici fetch', dialect, generate: ownFetch },
  { name: 'undici request', dialect, generate: ownRequest },
  { name: 'node:http', dialect, generate: nodeHttp },
]
