import { errorsOf } from './errors.ts'
import type { Json } from './json-schema.ts'

const healthContent = { 'application/json': { schema: { $ref: '#/components/schemas/Health' } } }

/** Statuses of errors of probes. They need no key and read no input. */
const statuses = [400, 408, 413, 415, 417, 431]

function probe(operationId: string, summary: string, description: string, responses: Record<string, Json>) {
  const get = { operationId, tags: ['probes'], summary, description, security: [] }
  return { get: { ...get, responses: { ...errorsOf(statuses), ...responses } } }
}

/** Paths that need no key. */
export const probes: Record<string, Record<string, Json>> = {
  '/metrics': probe(
    'getMetrics',
    'Get metrics',
    'Returns metrics in the text format of Prometheus. 404 if they are served on a port of their own.',
    {
      '200': { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
      ...errorsOf([404, 503]),
    },
  ),
  '/health': probe('getHealth', 'Get health', 'Answers while the process runs.', {
    '200': { description: 'It runs.', content: healthContent },
  }),
  '/ready': probe(
    'getReadiness',
    'Get readiness',
    'Tells whether the database answers, accepts writes, and has all migrations.',
    {
      '200': { description: 'Ready.', content: healthContent },
      '503': { description: 'Not ready.', content: healthContent },
    },
  ),
}
