// Writes the image from which new embedded databases are copied. Without it a first start takes some seconds longer.
import { createImage } from '@fusion-gateway/embedded'
import { deployMigrations } from '@fusion-gateway/migrate'
import { Sql } from '@fusion-gateway/sql'

await createImage((driver) => deployMigrations({ driver, sql: new Sql(driver) }))
