/** What the agent meets outside its process: the world and the model. */
import type { ChildProcess } from 'node:child_process'
import { startModelServerProcess } from '../src/testing/index.ts'
import { firstLine, type Children } from './children.ts'
import type { ModelAccess } from './job.ts'
import { liveModel } from './live.ts'
import type { PointReached } from './points.ts'
import { faults, script } from './script.ts'

export interface Stage {
  readonly world: { readonly url: string; readonly pid: number }
  readonly model: {
    readonly access: ModelAccess
    /** Undefined: it is a real one. */
    readonly pid: number | undefined
    countRequests(): Promise<number | undefined>
  }
}

export async function startStage(children: Children, live: boolean, onPoint: (message: PointReached, world: ChildProcess) => void): Promise<Stage> {
  const [world, model] = await Promise.all([startWorld(children, onPoint), live ? realModel() : scriptedModel(children)])
  return { world, model }
}

async function startWorld(children: Children, onPoint: (message: PointReached, world: ChildProcess) => void): Promise<Stage['world']> {
  const child = children.start('world.ts')
  child.on('message', (message: PointReached) => onPoint(message, child))
  return firstLine<Stage['world']>(child, 'the world')
}

async function scriptedModel(children: Children): Promise<Stage['model']> {
  const starting = startModelServerProcess({ conversations: [script], faults })
  // Told before it has started: the demo may be interrupted in between.
  children.add(async () => (await starting).close())
  const server = await starting
  return {
    access: { name: 'scripted', id: 'desk-1', url: server.url },
    pid: server.pid,
    countRequests: async () => (await server.requests()).length,
  }
}

async function realModel(): Promise<Stage['model']> {
  const access = liveModel(process.env)
  if (!access) throw new Error('no key of a provider is in the environment')
  return { access, pid: undefined, countRequests: async () => undefined }
}
