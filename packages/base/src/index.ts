export { createAged } from './aged.ts'
export { buildVersion, fullVersion } from './build-version.ts'
export {
  clientHasGone,
  type ErrorCode,
  errorCodes,
  type FieldError,
  type FieldErrorCode,
  GatewayError,
  invalidField,
  invalidInput,
  isErrorCode,
  OperatorError,
  retryAfterSeconds,
  withHeaders,
} from './errors.ts'
export { type LimitName, limitNames, maxPointsPerMinute } from './limit-names.ts'
export { type DescribedError, formatOptions, type LogFormatName, logFormats } from './log-formats.ts'
export { isNetwork, parseNetwork } from './networks.ts'
export { isObject, ownValue, recordOf } from './own-value.ts'
export { createAlarm, repeat } from './repeat.ts'
export * from './scopes.ts'
