/** The version of this package. */
import { readFileSync } from 'node:fs'

/** From its package.json, which lies as far above `src/cli` as above `dist/cli`. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
