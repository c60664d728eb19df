import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Image, projectRoot, readCommit } from './image.ts'
import { type RunningCommand, startCommand } from './running-command.ts'

/** The user `nobody`, if this process may start processes of others. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/**
 * Builds the files of the image as the Dockerfile does, without a container engine. Its commands are started as a
 * container would: without npm, as an unprivileged user, from files that the user cannot change.
 */
export function buildTree(): Image {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-image-'))
  chmodSync(folder, 0o755)
  const tree = path.join(folder, 'gateway')
  const data = path.join(folder, 'data')
  const source = path.join(folder, 'source')
  copyFiles(source)
  execFileSync('deploy/image/build.sh', [tree, readCommit()], { cwd: source, stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(source, { recursive: true })
  const running: RunningCommand[] = []
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid)

  return {
    sizeMib: Number(execFileSync('du', ['-sm', tree], { encoding: 'utf8' }).split('\t')[0]),
    start(command, env) {
      // The Node of the image is the one of this process, and nothing else is on the path.
      const one = startCommand(process.execPath, ['bin/fusion.js', ...command], {
        cwd: tree,
        env: { PATH: path.join(folder, 'empty'), NODE_ENV: 'production', HOST: '127.0.0.1', DATA_DIR: data, ...env },
        ...user,
      })
      running.push(one)
      return one
    },
    async remove() {
      for (const one of running) await one.kill()
      execFileSync('chmod', ['-R', 'u+w', folder])
      rmSync(folder, { recursive: true })
    },
  }
}

/** Copies the files that .dockerignore lets through. */
function copyFiles(target: string): void {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: projectRoot, encoding: 'utf8' })
  const ignored = /^(test|bench|examples|tools(?!\/console\/)|docs\/(decisions|images)|packages\/[^/]+\/test)\//
  for (const file of list.split('\n').filter((name) => name !== '' && !ignored.test(name))) {
    cpSync(path.join(projectRoot, file), path.join(target, file), { recursive: true })
  }
}
