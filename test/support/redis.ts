import { connect } from 'node:net'

export const redisPort = Number(process.env['TEST_REDIS_PORT'] ?? 6379)

export const isRedisRunning = await new Promise<boolean>((resolve) => {
  const socket = connect(redisPort, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
  socket.on('connect', () => socket.destroy())
})
