/**
 * The length that the price of an operation assumes for a list: a number, or the length of an argument. Fields declare it
 * as `extensions: { listLength }`.
 */
export type ListLength = number | { readonly asArgument: string }

/**
 * What a field costs besides its nodes, in points, for its arguments as the client sent them. Fields declare it as
 * `extensions: { extraPoints }`.
 */
export type ExtraPoints = (args: Readonly<Record<string, unknown>>) => number

/** What a field costs whose statement looks at rows that it does not return: a count, a search. */
export const pointsOfScan = 50
