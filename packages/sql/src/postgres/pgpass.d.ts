declare module 'pgpass' {
  /** What a line of the file must match. */
  interface Connection {
    readonly host: string
    readonly port: number
    readonly database: string
    readonly user: string
  }

  /** Passes on the password, or undefined if no line matches. */
  export default function pgpass(connection: Connection, callback: (password: string | undefined) => void): void
}
