/** Colours, where they are wanted. */
import { styleText } from 'node:util'
import type { Io, Output } from './io.ts'

export type Style = 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold'

export type Paint = (style: Style | undefined, text: string) => string

/** Only on a terminal, and not where `NO_COLOR` (https://no-color.org) or a dumb terminal says otherwise. */
export function hasColours(output: Pick<Output, 'isTTY'>, env: Io['env']): boolean {
  return output.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

export const paintFor = (output: Pick<Output, 'isTTY'>, env: Io['env']): Paint =>
  hasColours(output, env) ? (style, text) => (style ? styleText(style, text, { validateStream: false }) : text) : (_style, text) => text
