import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { showProgress } from '../../src/cli/actions/terminal.ts'
import { createReport } from '../../src/shadow/report.ts'

it('a report has a bounded size after many requests, whatever they are', () => {
  const report = createReport()
  const requests = 50_000
  for (let count = 0; count < requests; count += 1) {
    const route = `GET /route-${count}`
    if (count % 2 === 0) report.skip(`reason ${count}`)
    else {
      const comparison = report.begin(route, { method: 'GET', target: `/route?text=${'a'.repeat(200)}` })
      comparison.add({ path: '$.name', kind: 'value', old: 'a'.repeat(10_000), new: [...'abcdefghij'] })
      comparison.end()
      report.addTime(route, 'old', count)
    }
  }
  const summary = report.summary()
  expect(summary).toMatchObject({ requests, compared: requests / 2, different: requests / 2 })
  expect(summary.differences).toHaveLength(1_000)
  expect(summary.otherDifferences).toBe(requests / 2 - 1_000)
  expect(summary.routes).toHaveLength(50)
  expect(Object.keys(summary.notCompared)).toHaveLength(51)
  expect(JSON.stringify(summary).length).toBeLessThan(500_000)
})

it('a progress bar shows the rate and how long the rest takes, on a terminal', async () => {
  const terminal = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true })
  const progress = showProgress(terminal, 'profiles', 1_000, 'profiles')
  progress.update(100)
  expect(terminal.read()).toMatch(/^\rprofiles .*░ 10 %$/)
  await expect
    .poll(() => {
      progress.update(200)
      return terminal.read()
    })
    .toMatch(/ 20 % · \d+ profiles\/s · \d+ s left$/)
  progress.update(1_000)
  expect(terminal.read()).toMatch(/ 100 % · \d+ profiles\/s *$/)
  const pipe = new PassThrough({ encoding: 'utf8' })
  showProgress(pipe, 'profiles', 1_000).update(500)
  expect(pipe.read()).toBe(null)
})
