/** A process that dies and is known to be dead, within one process: its leases are free at once, without waiting for their end. */
import type { Store } from '../../src/index.ts'
import { encodeOwner, thisProcess } from '../../src/run/owner.ts'
import { mortal, type Mortal } from './crash.ts'

/** A process with the id of this one that was started at another time: it is gone. */
const GONE = encodeOwner({ ...thisProcess(), started: '1' })

/** A store of a process that is to die. While it lives nobody else may look: it seems dead already. */
export const mortalProcess = (store: Store): Mortal => mortal({ ...store, take: (runId, lease) => store.take(runId, { ...lease, owner: GONE }) })
