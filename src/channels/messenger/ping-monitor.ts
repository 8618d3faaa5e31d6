/**
 * Watches whether an open socket still brings anything. It sends WebSocket pings, which every
 * server must answer (RFC 6455, section 5.5.3). Discord counts heartbeats as events of the gateway,
 * but not pings. If a server never answers a ping, only its heartbeats count.
 *
 * States: heard ⇄ quiet. Each change is reported once.
 */
import type { SteadyTime } from '../../lib/clock.ts';

export type PingMonitorLimits = {
  /** The time between two pings. */
  readonly tickMs: number;
  /** The connection counts as quiet after this time without anything, even an answer to a ping. */
  readonly quietMs: number;
};

/** A round that is later than this shows a slow process, and says nothing about the connection. */
const lateMs = 2_000;

/** The part of a socket that the ping monitor uses. */
type PingSocket = {
  on(event: 'pong', noteSign: () => void): unknown;
  ping(data: undefined, mask: undefined, done: () => void): void;
};

export class PingMonitor {
  readonly #steady: () => SteadyTime;
  readonly #limits: PingMonitorLimits;
  readonly #changed: (quietForMs: number | null) => void;
  #listens = false;
  #answers = false;
  #isQuiet = false;
  #lastSignAt: SteadyTime;
  #heartbeatAt: SteadyTime;

  /** @param changed called with the time since the last sign; null: there is a new sign */
  constructor(
    steady: () => SteadyTime,
    limits: PingMonitorLimits,
    changed: (quietForMs: number | null) => void,
  ) {
    this.#steady = steady;
    this.#limits = limits;
    this.#changed = changed;
    this.#lastSignAt = steady();
    this.#heartbeatAt = this.#lastSignAt;
  }

  /** Notes a sign of life. */
  noteSign(): void {
    this.#lastSignAt = this.#steady();
    if (!this.#isQuiet) return;
    this.#isQuiet = false;
    this.#changed(null);
  }

  /** Must be called every `tickMs` while the socket is open. */
  heartbeat(socket: PingSocket): void {
    const at = this.#steady();
    const isLate = at - this.#heartbeatAt > this.#limits.tickMs + lateMs;
    this.#heartbeatAt = at;
    if (!this.#listens) {
      this.#listens = true;
      socket.on('pong', () => {
        this.#answers = true;
        this.noteSign();
      });
    }
    const quietForMs = at - this.#lastSignAt;
    if (this.#answers && !this.#isQuiet && !isLate && quietForMs > this.#limits.quietMs) {
      this.#isQuiet = true;
      this.#changed(quietForMs);
    }
    // If the ping cannot be sent, a close follows.
    socket.ping(undefined, undefined, () => {});
  }
}
