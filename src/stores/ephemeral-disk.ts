/** Where a file does not last: hosts whose disk is thrown away with the process, known by the environment they set. */

type Environment = Readonly<Record<string, string | undefined>>

/** Environment variable -> the host that sets it. A host belongs here only when its ordinary disk never outlives the instance. */
const HOSTS: readonly (readonly [variable: string, host: string])[] = [
  ['VERCEL', 'Vercel'],
  ['NETLIFY', 'Netlify'],
  ['CF_PAGES', 'Cloudflare Pages'],
  ['AWS_LAMBDA_FUNCTION_NAME', 'AWS Lambda'],
  ['K_SERVICE', 'Google Cloud Run'],
  ['CLOUD_RUN_JOB', 'Google Cloud Run'],
  ['FUNCTION_TARGET', 'Google Cloud Functions'],
  ['FUNCTIONS_WORKER_RUNTIME', 'Azure Functions'],
  ['DYNO', 'Heroku'],
]

/**
 * The host whose disk does not last and the variable that gave it away, such as `AWS Lambda (AWS_LAMBDA_FUNCTION_NAME)`;
 * undefined on a disk that may last. A variable that is empty, `0` or `false` does not count.
 */
export function ephemeralDisk(environment: Environment): string | undefined {
  const found = HOSTS.find(([variable]) => !['', '0', 'false'].includes(environment[variable] ?? ''))
  return found && `${found[1]} (${found[0]})`
}
