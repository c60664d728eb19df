import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { parse, stringify } from 'yaml'
import { projectRoot, readPage } from '../support/docs.ts'
import { rules } from './monitoring.ts'

/** A process that Prometheus scrapes. */
export interface Target {
  readonly job: 'fusion-gateway' | 'fusion-worker'
  /** The URL of its metrics. */
  readonly url: string
}

/** The names of the metrics that rules read. */
const read = new Set(rules.flatMap(({ expr }) => expr.match(/\b(?:fusion|nodejs|process)_\w+/g) ?? []))

const { global } = parse(readPage('deploy/monitoring/prometheus.yml')) as {
  global: { scrape_interval: string; scrape_timeout: string; evaluation_interval: string }
}

/** `10s` ⇒ 10 */
const secondsOf = (duration: string) => Number(/^(\d+)s$/.exec(duration)?.[1])

/** A process shows the same numbers for a second after it has collected them. */
const pauseMilliseconds = 1_050

/**
 * Records the metrics of processes, as Prometheus would, for `promtool test rules`: what the rules say when this is
 * what Prometheus has read. Each scrape counts as one after `seconds`, although little more than one second passes.
 */
export function recordMetrics(targets: readonly Target[], { seconds = secondsOf(global.scrape_interval) } = {}) {
  /** The values of each series, by its text in PromQL. `_` is a missing one. */
  const series = new Map<string, string[]>()
  let scrapes = 0
  let faultAt = 0

  function add(text: string, value: string): void {
    const values = series.get(text) ?? []
    series.set(text, values)
    while (values.length < scrapes) values.push('_')
    values.push(value)
  }

  async function scrape({ job, url }: Target): Promise<void> {
    const labels = `job="${job}",instance="${new URL(url).host}"`
    const response = await fetch(url, { signal: AbortSignal.timeout(secondsOf(global.scrape_timeout) * 1_000) }).catch(
      () => undefined,
    )
    const text = response?.ok ? await response.text().catch(() => undefined) : undefined
    add(`up{${labels}}`, text === undefined ? '0' : '1')
    if (text !== undefined) {
      for (const [, name = '', own, value = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
        if (read.has(name)) add(`${name}{${own ? `${own},` : ''}${labels}}`, value)
      }
    }
    // Prometheus marks series that a scrape lacks as stale.
    for (const [name, values] of series) {
      if (name.endsWith(`${labels}}`) && values.length === scrapes && !['stale', '_'].includes(values.at(-1) ?? '_')) {
        values.push('stale')
      }
    }
  }

  return {
    /** Scrapes so many times, and does something before each. */
    async take(count: number, before: () => Promise<unknown> = async () => undefined): Promise<void> {
      for (let taken = 0; taken < count; taken += 1) {
        await before()
        await Promise.all(targets.map(scrape))
        await sleep(pauseMilliseconds)
        scrapes += 1
      }
    },

    /** Notes that the fault begins now: right after the last scrape, which is the worst case. */
    markFault(): void {
      faultAt = (scrapes - 1) * seconds
    },

    /**
     * Expects that alerts fire, each in so many seconds after the fault and not before it. A scrape can take as long as
     * its timeout, and the rules can be evaluated as late as an interval after it: here neither takes time.
     *
     * @param also.overAtEnd alerts that do not fire at the end
     * @param also.pagesAtEnd all alerts that page at the end. Those that are not in `within` fire from the fault on
     */
    async expectAlerts(
      within: Readonly<Record<string, number>>,
      also: { readonly overAtEnd?: readonly string[]; readonly pagesAtEnd?: readonly string[] } = {},
    ): Promise<void> {
      const { overAtEnd = [], pagesAtEnd } = also
      const pagesBefore = pagesAtEnd?.filter((alert) => !(alert in within)) ?? []
      const late = secondsOf(global.scrape_timeout) + secondsOf(global.evaluation_interval)
      const end = (scrapes - 1) * seconds
      const quiet = (alert: string, at: number) => ({
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: `${at}s`,
        exp_samples: [],
      })
      const pages = (alerts: readonly string[], at: number) => ({
        expr: 'group by (alertname) (ALERTS{severity="page",alertstate="firing"})',
        eval_time: `${at}s`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      })
      for (const [alert, most] of Object.entries(within)) {
        expect(faultAt + most - late, `${alert}: too few scrapes`).toBeLessThanOrEqual(end)
      }
      const test = {
        interval: `${seconds}s`,
        input_series: [...series].map(([text, values]) => ({ series: text, values: values.join(' ') })),
        promql_expr_test: [
          ...Object.entries(within).flatMap(([alert, most]) => [
            quiet(alert, faultAt),
            {
              expr: `max(max_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[${most - late}s]))`,
              eval_time: `${faultAt + most - late}s`,
              exp_samples: [{ labels: '{}', value: 1 }],
            },
          ]),
          ...overAtEnd.map((alert) => quiet(alert, end)),
          ...(pagesAtEnd ? [pages(pagesBefore, faultAt), pages(pagesAtEnd, end)] : []),
        ],
      }
      const folder = mkdtempSync(path.join(tmpdir(), 'fusion-alerts-'))
      const file = path.join(folder, 'recorded.yaml')
      const rule_files = [path.join(projectRoot, 'deploy/monitoring/alerts.yaml')]
      writeFileSync(
        file,
        stringify({ rule_files, evaluation_interval: global.evaluation_interval, tests: [test] }, { lineWidth: 0 }),
      )
      const { stdout, stderr } = await promisify(execFile)('promtool', ['test', 'rules', file]).catch((error) => error)
      rmSync(folder, { recursive: true })
      const shown = test.input_series.filter((one) => !one.series.includes('_bucket'))
      expect(stdout + stderr, shown.map((one) => `${one.series} ${one.values}`).join('\n')).toContain('SUCCESS')
    },
  }
}
