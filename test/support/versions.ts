/** What is installed, where a test holds of newer versions only: the lowest ones are checked too (`npm run check:lowest-ai`, `check:lowest-node`). */
import { createRequire } from 'node:module'

const [, , patch = 0] = (createRequire(import.meta.url)('ai/package.json') as { version: string }).version.split('.').map(Number)

/** The lowest `ai` 7 has fewer callbacks, and tells less of some errors. */
export const isLowestAi = patch < 173

/** Node 22's SQLite opens every database defensively: what is said of a file in the middle of another's write is rougher there. */
export const isLowestNode = Number(process.versions.node.split('.')[0]) < 24
