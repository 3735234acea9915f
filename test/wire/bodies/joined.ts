/** Parts of a stream with their deltas joined: by kind and part id, at the place of the first. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

export function joined(parts: readonly LanguageModelV4StreamPart[]): unknown[] {
  const out: unknown[] = []
  const open = new Map<string, { delta: string }>()
  for (const part of parts) {
    if (part.type === 'ping' || part.type === 'raw') continue
    if (part.type.endsWith('-end') && 'id' in part) open.delete(`${part.type.replace('-end', '-delta')} ${part.id}`)
    if (!('delta' in part)) {
      out.push(part)
      continue
    }
    const key = `${part.type} ${part.id}`
    const before = open.get(key)
    if (before) Object.assign(before, part, { delta: before.delta + part.delta })
    else {
      const first = { ...part }
      open.set(key, first)
      out.push(first)
    }
  }
  return out
}
