/** Arguments that somebody gave a tool in place of the model's, held to the tool's own schema. */
import { isDeepStrictEqual } from 'node:util'

/** What the AI SDK takes for a schema: a Standard Schema (zod and others), one made by `jsonSchema()`, or a function that gives one. */
type InputSchema =
  | { readonly '~standard': { validate(value: unknown): StandardResult | PromiseLike<StandardResult> } }
  | { validate?(value: unknown): ValidationResult | PromiseLike<ValidationResult> }

type StandardResult = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] }[] }
type ValidationResult = { readonly success: true; readonly value: unknown } | { readonly success: false; readonly error: Error }

/**
 * The input as `execute` is given it. Whoever changes arguments starts from those that they are shown, `shown`, which the schema has made
 * already: where it would make something else of them once more (it transforms), it can say nothing of such arguments, and they are taken as they
 * are. A JSON schema without a validator is not looked at, as the AI SDK does not either. @throws TypeError saying what does not fit.
 */
export async function parsedInput(tool: object, input: unknown, shown: unknown): Promise<unknown> {
  const { inputSchema } = tool as { readonly inputSchema?: InputSchema | (() => InputSchema) }
  const schema = typeof inputSchema === 'function' && !('~standard' in inputSchema) ? inputSchema() : inputSchema as InputSchema | undefined
  if (!schema || !(await isKept(schema, shown))) return input
  return parsed(schema, input)
}

const isKept = (schema: InputSchema, value: unknown): Promise<boolean> => parsed(schema, value).then((again) => isDeepStrictEqual(again, value), () => false)

async function parsed(schema: InputSchema, input: unknown): Promise<unknown> {
  if ('~standard' in schema) {
    const result = await schema['~standard'].validate(input)
    if (result.issues) throw new TypeError(result.issues.map(({ message, path = [] }) => [path.map(segment).join('.'), message].filter((part) => part !== '').join(': ')).join('; '))
    return result.value
  }
  const result = await schema.validate?.(input)
  if (result?.success === false) throw new TypeError(result.error.message)
  return result ? result.value : input
}

const segment = (part: unknown): string => String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part)
