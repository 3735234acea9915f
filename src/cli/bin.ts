#!/usr/bin/env node
/** The program `holdfast`. Plain syntax, and nothing else is loaded before the Node is known to be new enough. */
import { tooOld } from './node-version.ts'

const message = tooOld(process.versions.node)
if (message) {
  process.stderr.write(message + '\n')
  process.exitCode = 2
} else {
  void import('./process.ts').then(function (program) {
    return program.runProcess()
  })
}
