import { errorCodes } from '../../engine/errors.ts'

/** The schema of problem documents. */
export const problemSchema = {
  type: 'object',
  description: 'An error (RFC 9457).',
  properties: {
    type: { type: 'string', description: 'The type of the problem.' },
    title: { type: 'string', description: 'The type of the problem in words.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'The error of this request.' },
    instance: { type: 'string', description: 'The occurrence of the problem.' },
    code: { type: 'string', enum: Object.keys(errorCodes), description: 'The error code.' },
    request_id: { type: 'string', description: 'The id of the request in the log.' },
    cost: { type: 'integer', description: 'The cost in points, with `TOO_EXPENSIVE` and `RATE_LIMITED`.' },
    maximum: {
      type: 'integer',
      description: 'The maximum in points: of an operation with `TOO_EXPENSIVE`, per minute with `RATE_LIMITED`.',
    },
    remaining: { type: 'integer', description: 'The points that are left in this minute, with `RATE_LIMITED`.' },
    errors: {
      type: 'array',
      description: 'The rejected fields, with status 422.',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'The path of the field.' },
          code: { type: 'string', description: 'The error code of the field.' },
          message: { type: 'string', description: 'The values that are accepted.' },
        },
        required: ['field', 'code', 'message'],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id'],
}

export const healthSchema = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['ok', 'ready', 'not ready'] } },
  required: ['status'],
}
