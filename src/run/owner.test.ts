import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { decodeOwner, describeOwner, encodeOwner, isKnownDead, thisProcess, type Owner } from './owner.ts'

const unreadable = vi.hoisted(() => ({ code: '' }))
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const readFileSync = (path: string, encoding: 'utf8'): string => {
    if (unreadable.code && path.endsWith('/stat')) throw Object.assign(new Error(unreadable.code), { code: unreadable.code })
    return fs.readFileSync(path, encoding)
  }
  return { ...fs, default: fs, readFileSync }
})

const me = thisProcess()
const children: ChildProcess[] = []
afterEach(() => {
  unreadable.code = ''
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A child process that says who it is as an owner, and lives until it is killed. */
async function startOwner(): Promise<{ owner: Owner; child: ChildProcess }> {
  const module = JSON.stringify(new URL('./owner.ts', import.meta.url).href)
  const script = `const { encodeOwner, thisProcess } = await import(${module}); console.log(encodeOwner(thisProcess())); setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return { owner: decodeOwner(line.toString())!, child }
}

describe('an owner', () => {
  it('is told apart from every other load of the library, and read back as it was written', () => {
    expect(me).toMatchObject({ id: expect.any(String), host: expect.any(String), pid: process.pid })
    expect(decodeOwner(encodeOwner(me))).toEqual(me)
    expect(describeOwner(me)).toBe(`pid ${process.pid} on ${me.host}`)
  })

  it.each(['', 'pid 7', 'null', '[]', '"text"', '{}', '{"by":"one"}', '{"pid":"7","host":"a"}'])('is nobody when %j was written', (text) => {
    expect(decodeOwner(text)).toBeUndefined()
    expect(describeOwner(decodeOwner(text))).toBe('another process')
    expect(isKnownDead(decodeOwner(text))).toBe(false)
  })

  it.each<[string, Partial<Record<keyof Owner, unknown>>]>([
    ['of another boot', { boot: 'another' }],
    ['in another pid namespace: pid 1 of two containers (D14)', { namespace: 'pid:[1]' }],
    ['whose boot is not known', { boot: undefined }],
    ['whose pid namespace is not known', { namespace: undefined }],
    ['whose start is not known', { started: undefined }],
  ])('is never known to be dead %s', (_, differently) => {
    for (const pid of [1, 4_194_303, process.pid]) expect(isKnownDead({ ...me, pid, started: '1', ...differently } as Owner)).toBe(false)
  })
})

describe.skipIf(!existsSync('/proc/self/stat'))('an owner on this machine', () => {
  it('is not dead while it lives, and known to be dead once it was killed (D4)', async () => {
    const { owner, child } = await startOwner()
    expect(owner.pid).toBe(child.pid)
    expect(isKnownDead(owner)).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(isKnownDead(owner)).toBe(true)
  })

  it('is not dead while it is stopped (D2)', async () => {
    const { owner, child } = await startOwner()
    child.kill('SIGSTOP')
    expect(isKnownDead(owner)).toBe(false)
  })

  it('is dead when its pid was given to another process', () => {
    expect(isKnownDead(me)).toBe(false)
    expect(isKnownDead({ ...me, started: String(Number(me.started) - 1) })).toBe(true)
  })

  it('is dead as a zombie: killed, and its parent has not looked', async () => {
    const { owner } = await startOwner()
    // The shell becomes `sleep`, which never looks after its child; the child is the one that is killed.
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(parent)
    const [line] = (await once(parent.stdout!, 'data')) as [Buffer]
    const pid = Number(line.toString())
    const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    const started = stat()[19]!
    expect(isKnownDead({ ...owner, pid, started })).toBe(false)
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'), { interval: 5, timeout: 60_000 })
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(stat()[0]).toBe('Z'), { interval: 5, timeout: 60_000 })
    expect(isKnownDead({ ...owner, pid, started })).toBe(true)
  })

  it.each(['EMFILE', 'EACCES', 'ENOENT'])('is not dead because this process cannot look (%s)', (code) => {
    unreadable.code = code
    expect(isKnownDead(me)).toBe(false)
    expect(isKnownDead({ ...me, started: '1' })).toBe(false)
  })
})
