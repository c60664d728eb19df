import { spawnSync } from 'node:child_process'
import { parse } from 'yaml'
import dashboard from '../../deploy/monitoring/dashboard.json' with { type: 'json' }
import { readPage } from '../support/docs.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

/** The alert rules of deploy/monitoring. */
export const rules = (
  parse(readPage('deploy/monitoring/alerts.yaml')) as { groups: { rules: Rule[] }[] }
).groups.flatMap(({ rules }) => rules)

/** An expression of Prometheus, where it is, and how Grafana shows its series. */
export interface Expression {
  readonly place: string
  readonly expr: string
  readonly legend?: string
}

/** The expressions of the dashboard, with an interval where Grafana inserts one. */
export const ofDashboard: readonly Expression[] = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr, legendFormat: legend }) => ({
    place: `the panel ${title}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
    legend,
  })),
)

export const ofAlerts: readonly Expression[] = rules.map(({ alert, expr }) => ({ place: `the alert ${alert}`, expr }))

/** Whether Debian's package prometheus is installed. */
export const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
)
