/**
 * The beat of an instance. Once a second a few statements go with a flight: what this instance has
 * to say to the others, and one that reads what is new. It is the flight that shows that the
 * instance lives. It costs the same whatever the number of conversations.
 *
 * waiting → under way → landed, and waiting again; one beat is under way at a time. While the
 * server is away a beat waits like any other write.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Deadlines } from '../../../lib/deadlines.ts';
import type { PostgresBatches } from '../deps.ts';
import type { Single } from '../write/writes.ts';
import { newsWrite, type News } from './news.ts';
import { declareDead, Silence, type Seen } from './silence.ts';

export type PeersTimes = {
  readonly heartbeatMs: number;
  /** Who has not moved for so long is dead; told by one that has looked all that time. */
  readonly deadMs: number;
  /** Whoever knows of no beat of its own that began within this time has lost its posts. */
  readonly holdMs: number;
};

export const peersTimes: PeersTimes = { heartbeatMs: 1_000, deadMs: 9_000, holdMs: 7_000 };

export type HeartbeatDeps = {
  readonly batches: PostgresBatches;
  readonly id: number;
  readonly broadcastLogRead: number;
  readonly times: PeersTimes;
  readonly steady: () => SteadyTime;
  /** By that clock. */
  readonly deadlines: Deadlines;
};

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #silence: Silence;
  readonly #heard: ((news: News) => void)[] = [];
  readonly #brought: (() => readonly Single[])[] = [];
  readonly #ended: (() => void)[] = [];
  #silent: readonly Seen[] = [];
  #broadcastLogAfter: number;
  #underWay = false;
  #over = false;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Infinity;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#silence = new Silence(deps.times.deadMs);
    this.#broadcastLogAfter = deps.broadcastLogRead;
    this.now();
  }

  /** Hears what each beat has found, in the order in which listeners came; must not throw. */
  onNews(heard: (news: News) => void): void {
    this.#heard.push(heard);
  }

  /** Is told once when there are no more beats. */
  onEnd(ended: () => void): void {
    this.#ended.push(ended);
  }

  /**
   * What goes with each beat. It is written before the news are read, and once: what was brought
   * lands, however often the flight is sent.
   */
  bring(writes: () => readonly Single[]): void {
    this.#brought.push(writes);
  }

  /** Beats at once, or again when the beat that is under way has landed. */
  now(): void {
    this.within(0);
  }

  within(ms: number): void {
    if (this.#over) return;
    const at = this.#deps.steady() + ms;
    if (at >= this.#dueAt) return;
    this.#clear();
    this.#dueAt = at;
    if (!this.#underWay) this.#timer = setTimeout(() => this.#go(), ms);
  }

  /** No more beats; one that is under way is heard by nobody. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#clear();
    for (const ended of this.#ended) ended();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Infinity;
  }

  #go(): void {
    const { batches, steady, times } = this.#deps;
    this.#clear();
    this.#underWay = true;
    const askedAt = steady();
    let news: News | null = null;
    const writes = this.#brought.flatMap((brought) => brought());
    if (this.#silent.length > 0) writes.push(declareDead(this.#silent));
    const found = newsWrite(this.#broadcastLogAfter, (is) => {
      news = { ...is, askedAt, landedAt: steady() };
    });
    for (const write of [...writes, found]) batches.add(write);
    batches.flush((landed) => {
      this.#underWay = false;
      if (landed === null) this.close();
      if (this.#over) return;
      if (news !== null) this.#hear(news);
      const dueAt = Math.min(this.#dueAt, askedAt + times.heartbeatMs);
      this.#dueAt = Infinity;
      this.within(Math.max(0, dueAt - steady()));
    });
  }

  #hear(news: News): void {
    const others = news.alive.filter(({ id }) => id !== this.#deps.id);
    const before = new Set(this.#silent.map(({ id }) => id));
    this.#silent = this.#silence.look(others, news.landedAt);
    if (this.#silent.some(({ id }) => !before.has(id))) this.now();
    this.#broadcastLogAfter = news.broadcastLog.at(-1)?.n ?? this.#broadcastLogAfter;
    for (const heard of this.#heard) heard(news);
  }
}
