/** A subscription to what the database announces (LISTEN). */
export interface Listener {
  close(): Promise<void>
}

/** What a listener tells. */
export interface ListenerEvents {
  /** Something was announced. */
  onMessage(payload: string): void
  /** The connection was lost and is there again: what was announced meanwhile is not known. */
  onGap(): void
}
