import type { Route } from './route.ts'
import { accountRoutes } from './routes/account.routes.ts'
import { jobRoutes } from './routes/job.routes.ts'
import { profileRoutes } from './routes/profile.routes.ts'
import { userRoutes } from './routes/user.routes.ts'

/** The REST interface: a route per row. */
export const routes: readonly Route[] = [userRoutes, accountRoutes, profileRoutes, jobRoutes].flat()
