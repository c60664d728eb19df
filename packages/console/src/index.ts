export { consolePages, readModules, readStyle } from './console-pages.ts'
