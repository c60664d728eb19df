declare const types: unique symbol

/** The text of an operation, with the types of its data and variables. */
export type Document<Data, Variables> = string & { readonly [types]?: (variables: Variables) => Data }
