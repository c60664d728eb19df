/** A subscription to a notification channel (LISTEN). */
export interface Listener {
  close(): Promise<void>
}

/** Callbacks of a listener. */
export interface ListenerEvents {
  /** A notification was received. */
  onMessage(payload: string): void
  /** The connection was lost and made again. Notifications sent in between were missed. */
  onGap(): void
}
