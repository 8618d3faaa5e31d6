/**
 * Whether a connection that is open still brings anything: WebSocket pings, which every server has
 * to answer (RFC 6455, section 5.5.3) and which Discord does not count as events of the gateway, as
 * it does heartbeats. A server that never answered one is judged by its heartbeats alone.
 *
 * States: heard ⇄ quiet. Each change is told once.
 */
import type { SteadyTime } from '../../lib/clock.ts';

export type PingMonitorLimits = {
  /** A ping goes out so often. */
  readonly tickMs: number;
  /** So long without anything, an answer to a ping neither, is told. */
  readonly quietMs: number;
};

/** A round that comes later than this tells of our own process, and nothing of the connection. */
const lateMs = 2_000;

/** As far as it is needed here, of the library `ws`. */
type Socket = {
  readonly readyState: number;
  on(event: 'pong', heard: () => void): unknown;
  ping(data: undefined, mask: undefined, done: () => void): void;
};
const open = 1;

export class PingMonitor {
  readonly #steady: () => SteadyTime;
  readonly #limits: PingMonitorLimits;
  readonly #changed: (quietForMs: number | null) => void;
  #socket: Socket | null = null;
  #answers = false;
  #isQuiet = false;
  #heardAt: SteadyTime;
  #heartbeatAt: SteadyTime;

  /** @param changed told for how long nothing has come by now; null: something came again */
  constructor(
    steady: () => SteadyTime,
    limits: PingMonitorLimits,
    changed: (quietForMs: number | null) => void,
  ) {
    this.#steady = steady;
    this.#limits = limits;
    this.#changed = changed;
    this.#heardAt = steady();
    this.#heartbeatAt = this.#heardAt;
  }

  /** Something came. */
  heard(): void {
    this.#heardAt = this.#steady();
    if (!this.#isQuiet) return;
    this.#isQuiet = false;
    this.#changed(null);
  }

  /** To be called every `tickMs` while the connection is open. */
  heartbeat(socket: Socket | null): void {
    const at = this.#steady();
    const isLate = at - this.#heartbeatAt > this.#limits.tickMs + lateMs;
    this.#heartbeatAt = at;
    if (socket === null || socket.readyState !== open) return;
    if (socket !== this.#socket) this.#take(socket);
    const quietForMs = at - this.#heardAt;
    if (this.#answers && !this.#isQuiet && !isLate && quietForMs > this.#limits.quietMs) {
      this.#isQuiet = true;
      this.#changed(quietForMs);
    }
    // That it cannot be sent shows by the close that follows.
    socket.ping(undefined, undefined, () => {});
  }

  #take(socket: Socket): void {
    this.#socket = socket;
    this.#answers = false;
    this.#isQuiet = false;
    this.#heardAt = this.#steady();
    socket.on('pong', () => {
      if (socket !== this.#socket) return;
      this.#answers = true;
      this.heard();
    });
  }
}
