export { consolePages, readModules } from './console-pages.ts'
