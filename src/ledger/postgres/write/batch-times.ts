/** How long flights may take, and what it means when they take longer. */
export type BatchTimes = {
  /** Without a landing for so long the server is away. */
  readonly awayMs: number;
  /** Without a flight for so long an empty one goes. */
  readonly heartbeatMs: number;
  /** Without a landing for so long another instance may have taken over. */
  readonly holdMs: number;
  /** A flight that the server undoes for so long fails. */
  readonly undoneMs: number;
  /** For what is left to write when this closes. */
  readonly closeMs: number;
  /** After so long a full disk is tried again. */
  readonly fullRetryMs: number;
};

export const batchTimes: BatchTimes = {
  awayMs: 5_000,
  heartbeatMs: 1_000,
  holdMs: 7_000,
  undoneMs: 60_000,
  closeMs: 10_000,
  fullRetryMs: 1_000,
};

/** For how long a write that nobody waits for may wait for company. */
export const lazyMs = 5;
/** After a deadlock or a time-out. */
export const againMsMin = 10;
export const againMsMax = 1_000;
