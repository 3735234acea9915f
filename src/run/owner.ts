/** Who owns a lease, and when an owner is known to be dead before the lease ends (R9). */
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, told apart from every other one as far as the system lets us: absent parts could not be found out. */
export interface Owner {
  /** Unique to this load of the library. */
  readonly id: string
  readonly host: string
  readonly pid: number
  /** Boot of the machine; process ids of another boot say nothing. */
  readonly boot?: string
  /** Pid namespace: pid 1 of two containers are two processes. */
  readonly namespace?: string
  /** When the process was started, in ticks since boot: a pid is given out again. */
  readonly started?: string
}

const GONE = 'gone'

const self: Owner = {
  id: randomUUID(),
  host: hostname(),
  pid: process.pid,
  ...known({ boot: bootId(), namespace: pidNamespace(), started: startOf(process.pid) }),
}

/** This process. */
export const thisProcess = (): Owner => self

export const encodeOwner = (owner: Owner): string => JSON.stringify(owner)

export function decodeOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null
    return typeof owner?.pid === 'number' && typeof owner.host === 'string' ? (owner as Owner) : undefined
  } catch {
    return undefined
  }
}

/** `pid 4711 on web-3`: for messages. */
export const describeOwner = (owner: Owner | undefined): string => (owner ? `pid ${owner.pid} on ${owner.host}` : 'another process')

/**
 * Whether the owner is known to be dead. False when that cannot be known: another machine, another container, a system
 * that does not tell. Then its lease has to run out.
 */
export function isKnownDead(owner: Owner | undefined): boolean {
  if (!owner?.boot || !owner.namespace || !owner.started) return false
  if (owner.boot !== self.boot || owner.namespace !== self.namespace) return false
  const started = startOf(owner.pid)
  return started !== undefined && started !== owner.started
}

function known(parts: Record<string, string | undefined>): Partial<Owner> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
}

function bootId(): string | undefined {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}

function pidNamespace(): string | undefined {
  return attempt(() => readlinkSync('/proc/self/ns/pid'))
}

/**
 * Field 22 of `/proc/PID/stat`, GONE when there is no such process; a zombie counts as gone. undefined: it cannot be known
 * (no file descriptor left, no right to look). The name in field 2 may hold spaces and brackets.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? GONE : fields[19]
  } catch {
    return doesNotExist(pid) ? GONE : undefined
  }
}

/** Asked of the system itself: `/proc` may hide other users' processes. */
function doesNotExist(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
