export { type default as PrismaTypes, getDatamodel } from './generated/pothos.ts'
