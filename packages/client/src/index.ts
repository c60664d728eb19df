// What pages need next to the entry of their client.
export { type Action, createAction } from './action.ts'
export type { ClientOptions, Tokens } from './core.ts'
export { deletedBy } from './deleted.ts'
export { type FieldError, hasCode, RequestError, TokenError, type Withheld } from './errors.ts'
export { type Failure, failureOf } from './failure.ts'
export { pagedLists, possibleTypes, scalars } from './generated.ts'
export { version } from './version.ts'
export type { WaitReason } from './waits.ts'
