/** What is installed, where something came with a later version only: the lowest ones are checked too (`npm run check:lowest-ai`). */
import { createRequire } from 'node:module'

const { version } = createRequire(import.meta.url)('ai/package.json') as { version: string }

/** The lowest `ai` that package.json promises to work with has fewer callbacks. */
export const isLowestAi = version === '7.0.0'
