/**
 * How long a handler may take to stop. It is less than the process has left when the worker is stopped
 * (cli/process/stop.ts).
 */
export const abortGraceMilliseconds = 500
