import { z } from 'zod'
import { createJobRules } from '../../domain/job/job.input.ts'
import { jobSelection } from '../../domain/job/job.transfer.ts'
import { filterText } from '../../engine/input/rules.ts'
import { readObject, readPageSize, readText } from '../inputs.ts'
import type { Route } from '../route.ts'
import { jobId, pageCursor, pageSize, toolCursor, userErrors } from './parameters.ts'

/** The rules of a new job. JSON Schema does not express the limits of payloads, which are configured. */
const { newJob } = createJobRules({ payloadKib: 0, resultKib: 0 })

export const jobRoutes: readonly Route[] = [
  {
    method: 'POST',
    url: '/fusion/jobs',
    summary: 'Create a job',
    operation: `mutation CreateJob($input: CreateJobInput!) {
      createJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [],
    body: {
      variable: 'input',
      description: 'The job to create. Unknown fields are ignored.',
      rules: newJob,
      example: { job_type: 'fetch_content', payload: { url: 'https://example.com/feed.xml' } },
    },
    variables: (request) => ({ input: readObject(request) }),
    response: 'createJob.job',
    component: 'Job',
    location: ({ id }) => `/fusion/jobs/${encodeURIComponent(id)}`,
  },
  {
    method: 'GET',
    url: '/fusion/jobs',
    summary: 'List jobs',
    description:
      'Returns a page of the jobs of the tenant, oldest first, and the header `Link` with `rel="next"` if there are more.',
    operation: `query ListJobs($filter: JobFilter, $first: Int, $after: String) {
      jobs(filter: $filter, first: $first, after: $after) {
        nodes { ${jobSelection} } pageInfo { hasNextPage endCursor }
      }
    }`,
    parameters: [
      {
        in: 'query',
        name: 'status',
        variable: 'filter.status',
        description: 'The state of the jobs.',
        rules: z.string(),
        example: 'succeeded',
      },
      {
        in: 'query',
        name: 'job_type',
        variable: 'filter.jobType',
        description: 'The exact type of the jobs.',
        rules: filterText,
        example: 'fetch_content',
      },
      pageSize('jobs'),
      pageCursor,
    ],
    variables: (request) => ({
      filter: { status: readText(request, 'status'), job_type: readText(request, 'job_type') },
      first: readPageSize(request, 'limit'),
      after: readText(request, 'cursor'),
    }),
    tool: { description: 'Lists the jobs, oldest first, page by page.', cursor: toolCursor },
    response: 'jobs.nodes',
    listKey: 'jobs',
    component: 'Job',
    connection: 'jobs',
  },
  {
    method: 'GET',
    url: '/fusion/jobs/:id',
    summary: 'Get a job',
    operation: `query GetJob($id: ID!) {
      job(id: $id) { ${jobSelection} }
    }`,
    parameters: [jobId('id')],
    variables: ({ params }) => ({ id: params['id'] }),
    response: 'job',
    component: 'Job',
  },
  {
    method: 'POST',
    url: '/fusion/jobs/:id/cancel',
    summary: 'Cancel a job that waits or runs',
    description: 'A finished job is rejected.',
    operation: `mutation CancelJob($input: CancelJobInput!) {
      cancelJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [jobId('input.id', 'job_demo_2')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'cancelJob.job',
    component: 'Job',
  },
  {
    method: 'POST',
    url: '/fusion/jobs/:id/retry',
    summary: 'Make a failed or cancelled job due again',
    description: 'The job has its remaining attempts, but at least one. A job in another state is rejected.',
    operation: `mutation RetryJob($input: RetryJobInput!) {
      retryJob(input: $input) { job { ${jobSelection} } ${userErrors} }
    }`,
    parameters: [jobId('input.id', 'job_demo_3')],
    variables: ({ params }) => ({ input: { id: params['id'] } }),
    response: 'retryJob.job',
    component: 'Job',
  },
]
