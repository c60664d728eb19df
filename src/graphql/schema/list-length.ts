/**
 * The length that the price of an operation assumes for a list: a number, or the length of an argument. Fields declare it
 * as `extensions: { listLength }`.
 */
export type ListLength = number | { readonly asArgument: string }
