/** Where the interpreter is in a program. */
import type { Run } from '../../src/index.ts'
import type { Line } from './position.ts'
import type { Session } from './session.ts'

export interface Place {
  readonly session: Session
  readonly run: Run
  /** Path of the node. */
  readonly path: string
  readonly line: Line
}
