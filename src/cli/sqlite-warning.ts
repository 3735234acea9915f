/** Node 22 calls its SQLite experimental as soon as it is loaded. Nobody who types a command can do anything about that. */

type EmitWarning = NodeJS.Process['emitWarning']

/** Silences exactly that warning; every other one is still shown. */
export function silenceSqliteWarning(target: { emitWarning: EmitWarning }): void {
  const emit = target.emitWarning as (warning: string | Error, ...rest: unknown[]) => void
  target.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) emit.call(target, warning, ...rest)
  }
}
