/** Lines on a terminal: when, what about, what. Colours only where the stream is a terminal and NO_COLOR is not set. */
import { styleText } from 'node:util'

export type Tone = 'good' | 'bad' | 'wait' | 'quiet' | 'strong'

const FORMATS = { good: 'green', bad: 'red', wait: 'yellow', quiet: 'dim', strong: 'bold' } as const

export class Terminal {
  readonly #stream: NodeJS.WriteStream
  readonly #started = performance.now()
  #isOpen = false
  #isSilent = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  style(tone: Tone, text: string): string {
    return styleText(FORMATS[tone], text, { stream: this.#stream })
  }

  get elapsedMs(): number {
    return performance.now() - this.#started
  }

  /** Nothing is shown any more. */
  silence(): void {
    this.endLine()
    this.#isSilent = true
  }

  /** A whole line as it is. */
  print(text = ''): void {
    this.endLine()
    this.add(`${text}\n`)
  }

  /** `  1.23 s  label       text`. */
  line(label: string, text: string, tone?: Tone): void {
    this.endLine()
    this.add(`${this.#prefix(label)}${tone ? this.style(tone, text) : text}\n`)
  }

  /** Begins a line that grows. */
  begin(label: string): void {
    this.endLine()
    this.add(this.#prefix(label))
    this.#isOpen = true
  }

  add(text: string): void {
    if (!this.#isSilent) this.#stream.write(text)
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  endLine(): void {
    if (this.#isOpen) this.add('\n')
    this.#isOpen = false
  }

  #prefix(label: string): string {
    const time = `${(this.elapsedMs / 1000).toFixed(2)} s`.padStart(8)
    return `${this.style('quiet', time)}  ${label.padEnd(12)}`
  }
}
