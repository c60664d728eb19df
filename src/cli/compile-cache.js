// Switches Node's compile cache on for this process and its worker threads. Node runs what it finds in the cache, so
// the cache is in a folder that only this user can write. Where there is none, such as in a container with a read-only
// file system, Node compiles every file itself.
import fs from 'node:fs'
import module from 'node:module'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'

/** The folders that are tried in this order: the user's cache, and a folder for temporary files. */
function* candidates() {
  const { XDG_CACHE_HOME: cache } = process.env
  if (cache && path.isAbsolute(cache)) yield path.join(cache, 'fusion-gateway')
  else if (path.isAbsolute(home())) yield path.join(home(), '.cache/fusion-gateway')
  yield path.join(tmpdir(), `fusion-gateway-${process.geteuid?.()}`)
}

/** The home folder. Without HOME, Node looks the user up and fails if the system knows none, as in many containers. */
function home() {
  try {
    return homedir()
  } catch {
    return ''
  }
}

/** Whether the folder can be created, or exists and belongs to this user alone. */
function isOwnFolder(folder) {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    fs.accessSync(folder, fs.constants.W_OK)
    // Not the target of a symbolic link, which another user may have made.
    const { uid, mode } = fs.lstatSync(folder)
    return uid === process.geteuid?.() && fs.lstatSync(folder).isDirectory() && (mode & 0o022) === 0
  } catch {
    return false
  }
}

// NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE take precedence.
if (module.getCompileCacheDir() === undefined && !process.env['NODE_DISABLE_COMPILE_CACHE']) {
  const folder = candidates().find(isOwnFolder)
  if (folder !== undefined) {
    module.enableCompileCache(folder)
    // Worker threads take it from here.
    process.env['NODE_COMPILE_CACHE'] = folder
  }
}
