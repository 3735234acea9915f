import { describe, expect, it } from 'vitest'
import { ephemeralDisk } from './ephemeral-disk.ts'

describe('ephemeralDisk', () => {
  it.each([
    [{ VERCEL: '1' }, 'Vercel (VERCEL)'],
    [{ NETLIFY: 'true' }, 'Netlify (NETLIFY)'],
    [{ CF_PAGES: '1' }, 'Cloudflare Pages (CF_PAGES)'],
    [{ AWS_LAMBDA_FUNCTION_NAME: 'answer' }, 'AWS Lambda (AWS_LAMBDA_FUNCTION_NAME)'],
    [{ K_SERVICE: 'api' }, 'Google Cloud Run (K_SERVICE)'],
    [{ CLOUD_RUN_JOB: 'nightly' }, 'Google Cloud Run (CLOUD_RUN_JOB)'],
    [{ FUNCTION_TARGET: 'handler' }, 'Google Cloud Functions (FUNCTION_TARGET)'],
    [{ FUNCTIONS_WORKER_RUNTIME: 'node' }, 'Azure Functions (FUNCTIONS_WORKER_RUNTIME)'],
    [{ DYNO: 'web.1' }, 'Heroku (DYNO)'],
    [{ VERCEL: '1', AWS_LAMBDA_FUNCTION_NAME: 'answer' }, 'Vercel (VERCEL)'],
  ])('knows %o as %s', (environment, host) => {
    expect(ephemeralDisk(environment)).toBe(host)
  })

  it.each([[{}], [{ HOME: '/home/me', CI: 'true' }], [{ VERCEL: '' }], [{ VERCEL: '0', NETLIFY: 'false' }], [{ DYNO: undefined }]])(
    'takes the disk to last in %o', (environment) => {
      expect(ephemeralDisk(environment)).toBeUndefined()
    })
})
