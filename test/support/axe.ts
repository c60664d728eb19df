import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { projectRoot } from './docs.ts'
import { hasExample } from './skip.ts'

const dashboard = path.join(projectRoot, 'examples/creator-dashboard')

/** Whether the packages of the dashboard are installed, axe among them. */
export const hasDashboardPackages = (skipped: string) => hasExample('creator-dashboard', skipped)

interface Axe {
  readonly axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
}

/** Returns what axe finds in the page against WCAG 2.2 AA and its own rules. Needs the packages of the dashboard. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(path.join(dashboard, 'node_modules/axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as Axe).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
}
