/** The version of the package. The package of a build between releases has its commit too: `0.2.0-dev+1a2b3c4d5e6f`. */
export const version: string = '0.3.0-dev'
