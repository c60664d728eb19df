// Writes the image from which new embedded databases are copied. Without it a first start takes some seconds longer.
import { createImage } from '../src/engine/db/embedded/create-image.ts'

await createImage()
