// Imports the entry named by its argument and prints what that loaded: files by their place, and modules of Node.
import { registerHooks } from 'node:module'

const files = []
registerHooks({
  load(url, context, next) {
    files.push(url)
    return next(url, context)
  },
})
const before = new Set(process.moduleLoadList)
const exported = Object.keys(await import(process.argv[2]))
const own = process.moduleLoadList.filter((name) => name.startsWith('NativeModule ') && !before.has(name))
console.log(JSON.stringify({ files, native: own.map((name) => name.slice('NativeModule '.length)), exported }))
