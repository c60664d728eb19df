// What of Prisma this package uses: the runtime of the generated clients, which has no types of a schema.

import prismaClient from '@prisma/client/package.json' with { type: 'json' }
import { DbNull, Extensions, JsonNull, PrismaClientKnownRequestError, type Types } from '@prisma/client/runtime/client'

export type { Types }
export { DbNull, JsonNull, PrismaClientKnownRequestError }

export const clientVersion: string = prismaClient.version

/** `Prisma.getExtensionContext` */
export const { getExtensionContext } = Extensions

/** `Prisma.defineExtension`, which has types of a schema. Those of this extension are written by hand. */
export const defineExtension = Extensions.defineExtension as <Extension>(extension: Extension) => Extension
