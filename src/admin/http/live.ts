/**
 * The listeners of live events (text/event-stream). A listener is a number in the ring and an open
 * response. Events are written as fast as the connection takes them. Events that left the ring
 * before that are lost, and a `dropped` event counts them. So a slow listener costs no memory. A
 * listener that takes nothing for a minute is closed.
 *
 * A listener: reading (all events written) ⇄ full (its connection takes no more for now) → closed.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import type { ServerResponse } from 'node:http';
import type { Dropped, LiveEvent } from '../../domain/live-event.ts';
import type { LiveEventRing } from '../../telemetry/live-events.ts';
import type { Stream } from './answer.ts';
import type { Viewer } from './auth.ts';
import { liveEventOf } from '../schemas/live-event.ts';

export const listenersMax = 32;
/** The most readers among these listeners, so that an operator always finds a place. */
export const readersMax = 24;

export type LiveTimes = {
  /** How often a comment is sent, so that a dead connection is noticed. */
  readonly heartbeatMs: number;
  /** A connection that takes nothing for so many heartbeats is closed. */
  readonly heartbeatsMax: number;
};
const defaultTimes: LiveTimes = { heartbeatMs: 15_000, heartbeatsMax: 4 };

/** How long a browser waits before it reconnects. */
const retryMs = 2_000;
/** How many events are written at once. */
const batch = 100;

export class LiveListeners implements Disposable {
  readonly #ring: LiveEventRing;
  readonly #now: () => number;
  readonly #times: LiveTimes;
  readonly #listeners = new Set<Listener>();
  readonly #texts = new WeakMap<LiveEvent | Dropped, string>();
  #heartbeat: NodeJS.Timeout | null = null;
  #endWake: (() => void) | null = null;
  #isWakeDue = false;
  #closed = false;

  /** @param now milliseconds since 1970 */
  constructor(ring: LiveEventRing, now: () => number, times: Partial<LiveTimes> = {}) {
    this.#ring = ring;
    this.#now = now;
    this.#times = { ...defaultTimes, ...times };
  }

  /** Whether one more listener of that kind would be too many. */
  isFull(asker: Viewer): boolean {
    const all = [...this.#listeners];
    const readers = all.filter((listener) => listener.asker === 'reader').length;
    const tooMany = asker === 'reader' && readers >= readersMax;
    return this.#closed || all.length >= listenersMax || tooMany;
  }

  /** @param lastId the id of the last event that arrived there; null: starts with the next event */
  stream(lastId: string | null, asker: Viewer): Stream {
    return (response) => {
      if (this.isFull(asker) || response.destroyed) response.destroy();
      else this.#enter(response, lastId, asker);
    };
  }

  /** Ends every stream. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const listener of this.#listeners) {
      if (listener.full) listener.response.destroy();
      else listener.response.end();
      this.#leave(listener);
    }
  }

  #enter(response: ServerResponse, lastId: string | null, asker: Viewer): void {
    const last = this.#ring.newest;
    const listener: Listener = { response, asker, last, full: false, heartbeats: 0 };
    this.#listeners.add(listener);
    response.on('close', () => this.#leave(listener));
    response.on('drain', () => {
      listener.full = false;
      this.#feed(listener);
    });
    this.#endWake ??= this.#ring.onLiveEvent(() => this.#wake());
    this.#heartbeat ??= setInterval(() => this.#heartbeatAll(), this.#times.heartbeatMs).unref();
    const dropped = lastId === null ? '' : this.#resume(listener, lastId);
    // A listener that leaves before the first event can then resume here.
    const place = `id: ${this.#ring.epoch}-${listener.last}`;
    this.#write(listener, `retry: ${retryMs}\n${place}\n\n${dropped}`);
    this.#feed(listener);
  }

  #leave(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#endWake?.();
    this.#endWake = null;
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat);
    this.#heartbeat = null;
  }

  /**
   * Returns to the listener's last event. An id of another process, or an invalid one, is unknown
   * here.
   */
  #resume(listener: Listener, lastId: string): string {
    const [, epoch, digits] = /^([0-9a-z]+)-(\d{1,15})$/.exec(lastId) ?? [];
    const number = Number(digits);
    if (epoch === this.#ring.epoch && number <= this.#ring.newest) {
      listener.last = number;
      return '';
    }
    listener.last = this.#ring.oldest - 1;
    return this.#textOfDropped(null, listener.last);
  }

  /** Events come in bursts, so all events of one burst are written together. */
  #wake(): void {
    if (this.#isWakeDue) return;
    this.#isWakeDue = true;
    setImmediate(() => {
      this.#isWakeDue = false;
      for (const listener of this.#listeners) this.#feed(listener);
    });
  }

  #feed(listener: Listener): void {
    const { newest } = this.#ring;
    while (!listener.full && listener.last < newest && this.#listeners.has(listener)) {
      let text = '';
      const missed = this.#ring.oldest - 1 - listener.last;
      if (missed > 0) {
        listener.last += missed;
        text = this.#textOfDropped(missed, listener.last);
      }
      const until = Math.min(newest, listener.last + batch);
      while (listener.last < until) text += this.#textOf(++listener.last);
      this.#write(listener, text);
    }
  }

  #write(listener: Listener, text: string): void {
    listener.heartbeats = 0;
    if (!listener.response.write(text)) listener.full = true;
  }

  #heartbeatAll(): void {
    for (const listener of this.#listeners) {
      if (++listener.heartbeats > this.#times.heartbeatsMax && listener.full)
        listener.response.destroy();
      else if (!listener.full) this.#write(listener, ':\n\n');
    }
  }

  #textOf(number: number): string {
    const liveEvent = this.#ring.at(number)!;
    let text = this.#texts.get(liveEvent);
    if (text === undefined) {
      text = this.#format(liveEvent, number);
      this.#texts.set(liveEvent, text);
    }
    return text;
  }

  #textOfDropped(count: number | null, number: number): string {
    return this.#format({ kind: 'dropped', at: this.#now(), count, instance: null }, number);
  }

  #format(liveEvent: LiveEvent | Dropped, number: number): string {
    const data = JSON.stringify(liveEventOf(liveEvent));
    return `id: ${this.#ring.epoch}-${number}\nevent: ${liveEvent.kind}\ndata: ${data}\n\n`;
  }
}

type Listener = {
  readonly response: ServerResponse;
  readonly asker: Viewer;
  /** The number of the last event written to the listener. */
  last: number;
  /** The connection takes no more for now. */
  full: boolean;
  /** Heartbeats since the last write. */
  heartbeats: number;
};
