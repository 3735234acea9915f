/** The commands that take a run further, exactly as they can be typed. */
import type { Choice } from '../journal/entry.ts'
import type { RunStatus } from '../journal/store.ts'

export type { Choice }

/** Where the user said that the run is: repeated in the commands, so that they work as they stand. */
export type Place = Readonly<Partial<Record<'store' | 'module', string>>>


/** What a choice means, for somebody who has found out what happened. */
export const CHOICES: Readonly<Record<Choice, string>> = {
  result: 'it happened, and this is what it gave',
  reuse: 'it happened: give it what the earlier call gave, which show names',
  skip: 'leave it: its caller is told that its outcome is unknown',
  rerun: 'it did not happen, or may happen once more',
}

/** What an answer to a call that waits for approval means. */
export const ANSWERS: Readonly<Record<Answer, string>> = { approve: 'make this call', deny: 'do not make this call: the model is told so' }

/** The same of a call that was never started: it is about making it. */
export const CHOICES_BEFORE: Readonly<Record<Choice, string>> = {
  result: 'do not make this call: it is answered with this',
  reuse: 'do not make this call: it is answered with what the earlier one gave',
  skip: 'do not make this call: its caller is told that its outcome is unknown',
  rerun: 'make this call',
}

/** `of`: the earlier call that it is given the result of, where that is known. */
export function choiceText(choice: Choice | Answer, { started, of }: { readonly started: boolean; readonly of?: string | undefined }): string {
  if (choice === 'approve' || choice === 'deny') return ANSWERS[choice]
  if (choice === 'reuse' && of !== undefined) return `do not make this call: it is answered with what ${of} gave`
  return (started ? CHOICES : CHOICES_BEFORE)[choice]
}

/** `ofModel`: what is asked for is the answer of a model, which is a text or has content. */
export const resolveCommand = (runId: string, step: string, choice: Choice, place: Place, { asOf, ofModel = false }: { readonly asOf?: number | undefined; readonly ofModel?: boolean } = {}): string =>
  join('holdfast resolve', quoted(runId), quoted(step), choice === 'result' ? `--result '${ofModel ? '"the answer"' : '{"your":"JSON"}'}'` : `--${choice}`, seen(asOf), flags(place))

export type Answer = 'approve' | 'deny'

export const answerCommand = (runId: string, step: string, answer: Answer, place: Place, asOf?: number): string =>
  join(`holdfast ${answer}`, quoted(runId), quoted(step), seen(asOf), flags(place))

/** `resume` needs the agents, so a module; where only a store was named, the user has to say which. A stalled run is driven on with `--force` alone. */
export const resumeCommand = (runId: string, { module }: Place, status?: RunStatus): string =>
  join('holdfast resume', quoted(runId), status === 'stalled' ? '--force' : '', flags(module === undefined ? {} : { module }))

/** From this step on. */
export const redoCommand = (runId: string, step: string): string => join('holdfast resume', quoted(runId), '--redo', quoted(step))

export const showCommand = (runId: string, place: Place): string => join('holdfast show', quoted(runId), flags(place))

/** What the command is about: typed later, it is refused where that has changed. */
const seen = (asOf: number | undefined): string => (asOf === undefined ? '' : `--as-of ${asOf}`)

const flags = (place: Place): string => Object.entries(place).map(([name, value]) => `--${name} ${quoted(value)}`).join(' ')

const join = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ')

/** For a shell: as it is where nothing in it means anything to one. */
const quoted = (text: string): string => (/^[\w./:@%+,=-][\w./:#@%+,=~-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
