/** A branch: a line of steps of its own (R1). */
import { isAsyncIterable } from '../ai-sdk/iterator.ts'
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import { TEXT_BYTES, textWithin } from '../journal/given-text.ts'
import { currentContext, followerOf, inContext, lineIn, rememberAsked } from '../run/current.ts'
import type { Drive } from '../run/drive.ts'

export async function inBranch<T>(drive: Drive, parent: string, key: string, fn: () => PromiseLike<T> | T): Promise<T> {
  if ((typeof key !== 'string' && typeof key !== 'number') || typeof fn !== 'function') {
    throw new HoldfastError('INVALID_OPTIONS', `run.branch(): its key must be a string and its function a function, got ${shown(key)} and ${typeof fn}`)
  }
  textWithin('key of run.branch()', String(key), TEXT_BYTES, drive.attempt.secrets)
  const current = currentContext()
  const step = current?.step
  // Where it stands another try may have begun since: what is opened there is no business of this one.
  if (step?.signal.aborted || drive.machine.hasEnded(parent)) {
    throw new HoldfastError('BRANCH_ENDED', `run "${drive.attempt.runId}": branch "${key}" was opened in one that has ended`, {
      runId: drive.attempt.runId,
      advice: 'Await what a step or branch starts before it returns',
    })
  }
  const name = drive.attempt.secrets?.hide(String(key)) ?? String(key)
  const refused = current?.drive === drive ? drive.machine.openedByOthers(parent, name, followerOf(current, drive.goesOn)) : undefined
  if (refused) return drive.refuse(refused, parent)
  const branch = drive.machine.openBranch(parent, { key: name })
  if (branch === undefined) {
    return drive.refuse({ type: 'refuse', code: 'AMBIGUOUS_STEP', message: `branch "${key}" is open already`, advice: 'Give each line of work a key of its own' }, parent)
  }
  const asked = rememberAsked(branch.path, branch.isNew, drive.goesOn)
  // Where it was opened in a generator's body: what is asked for in it stands in no call of that.
  const context = { ...current, asked, call: undefined, drive, branch: branch.path }
  let isOpen = true
  const inside: Inside = {
    enter: lineIn(context),
    // Once: the key may be that of a later branch by now.
    end: () => {
      if (!isOpen) return
      isOpen = false
      drive.machine.closeBranch(branch)
      drive.goOnFrom(asked)
    },
  }
  let isRead = false
  try {
    const value = await inContext(context, fn)
    isRead = isAsyncIterable(value)
    return isAsyncIterable(value) ? (readInside(value, inside) as T) : value
  } catch (error) {
    drive.blame.escaped(error)
    throw error
  } finally {
    if (!isRead) inside.end()
  }
}

interface Inside {
  readonly enter: <R>(call: () => R) => R
  readonly end: () => void
}

/** The branch lives as long as what it returned is read, and whatever is called of that belongs to it: the context does not follow a generator's body by itself. */
function readInside(value: AsyncIterable<unknown>, inside: Inside): AsyncIterable<unknown> {
  if (value instanceof ReadableStream) return streamInside(value as ReadableStream<unknown>, inside)
  const steps = 'next' in value ? iteratorInside(value as AsyncIterator<unknown> & AsyncIterable<unknown>, inside) : undefined
  // What else it has is called on itself, which private fields need.
  return new Proxy(Object.create(Object.getPrototypeOf(value)) as typeof value, {
    has: (_, key) => key in value,
    set: (_, key, item) => Reflect.set(value, key, item, value),
    get: (_, key, proxy) => {
      if (key === Symbol.asyncIterator) return () => (steps ? (proxy as AsyncIterator<unknown>) : iteratorInside(value[Symbol.asyncIterator](), inside))
      if (steps && Object.hasOwn(steps, key)) return Reflect.get(steps, key) as unknown
      const item: unknown = Reflect.get(value, key, value)
      return typeof item === 'function' ? (...args: unknown[]) => inside.enter(() => Reflect.apply(item, value, args) as unknown) : item
    },
  })
}

function iteratorInside(iterator: AsyncIterator<unknown>, { enter, end }: Inside): AsyncIterator<unknown> & AsyncDisposable {
  const step = async (call: () => PromiseLike<IteratorResult<unknown>>): Promise<IteratorResult<unknown>> => {
    let goesOn = false
    try {
      const result = await enter(call)
      goesOn = !result.done
      return result
    } finally {
      if (!goesOn) end()
    }
  }
  // Its `finally` may hold steps: the branch ends behind it.
  const leave = (result?: unknown): Promise<IteratorResult<unknown>> => step(async () => (await iterator.return?.(result)) ?? { done: true, value: await result })
  return {
    next: (...args) => step(() => iterator.next(...args)),
    return: leave,
    [Symbol.asyncDispose]: async () => void (await leave()),
    ...(iterator.throw && { throw: (error?: unknown) => step(() => iterator.throw!(error)) }),
  }
}

/** A stream is read by more than its iterator. */
function streamInside(stream: ReadableStream<unknown>, { enter, end }: Inside): ReadableStream<unknown> {
  const reader = stream.getReader()
  return new ReadableStream<unknown>({
    async pull(controller) {
      let goesOn = false
      try {
        const { done, value } = await enter(() => reader.read())
        goesOn = !done
        if (done) controller.close()
        else controller.enqueue(value)
      } finally {
        if (!goesOn) end()
      }
    },
    async cancel(reason) {
      try {
        await enter(() => reader.cancel(reason))
      } finally {
        end()
      }
    },
  }, { highWaterMark: 0 })
}
