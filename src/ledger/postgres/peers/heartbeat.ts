/**
 * The heartbeat of an instance. Once a second a few statements go with a write batch: the writes
 * that other parts add, and one statement that reads the news. The batch itself shows that the
 * instance lives. A heartbeat costs the same whatever the number of conversations.
 *
 * A heartbeat goes from waiting to under way to landed, and waits again. At most one is under way.
 * While the server is away a heartbeat waits like any other write.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Deadlines } from '../../../lib/deadlines.ts';
import type { PostgresBatches } from '../deps.ts';
import type { Single } from '../write/writes.ts';
import { newsWrite, type News } from './news.ts';

export type PeersTimes = {
  readonly heartbeatMs: number;
  /**
   * An instance that has not moved for this long is dead. Only an instance that has watched it all
   * that time declares it dead.
   */
  readonly deadMs: number;
  /** An instance loses its leases when its last landed heartbeat began longer ago than this. */
  readonly holdMs: number;
};

export const peersTimes: PeersTimes = { heartbeatMs: 1_000, deadMs: 9_000, holdMs: 7_000 };

export type HeartbeatDeps = {
  readonly batches: PostgresBatches;
  readonly id: number;
  readonly broadcastLogRead: number;
  readonly times: PeersTimes;
  readonly steady: () => SteadyTime;
  /** By the clock `steady`. */
  readonly deadlines: Deadlines;
};

export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #silence: SilenceDetector;
  readonly #newsListeners: ((news: News) => void)[] = [];
  readonly #writeSources: (() => readonly Single[])[] = [];
  readonly #endListeners: (() => void)[] = [];
  #silent: readonly LastBatch[] = [];
  #broadcastLogAfter: number;
  #underWay = false;
  #closed = false;
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Infinity;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#silence = new SilenceDetector(deps.times.deadMs);
    this.#broadcastLogAfter = deps.broadcastLogRead;
    this.sendNow();
  }

  /**
   * Calls `listener` with the news of each heartbeat. Listeners are called in the order in which
   * they subscribed, and must not throw.
   */
  onNews(listener: (news: News) => void): void {
    this.#newsListeners.push(listener);
  }

  /** Called once when there are no more heartbeats. */
  onEnd(listener: () => void): void {
    this.#endListeners.push(listener);
  }

  /**
   * Adds writes to each heartbeat, in front of the statement that reads the news. They land exactly
   * once, however often the batch is sent.
   */
  addWrites(writes: () => readonly Single[]): void {
    this.#writeSources.push(writes);
  }

  /** Sends a heartbeat at once, or again when the one that is under way has landed. */
  sendNow(): void {
    this.sendWithin(0);
  }

  sendWithin(ms: number): void {
    if (this.#closed) return;
    const at = this.#deps.steady() + ms;
    if (at >= this.#dueAt) return;
    this.#clear();
    this.#dueAt = at;
    if (!this.#underWay) this.#timer = setTimeout(() => this.#send(), ms);
  }

  /** Sends no more heartbeats. Nobody hears the news of one that is under way. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#clear();
    for (const listener of this.#endListeners) listener();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Infinity;
  }

  #send(): void {
    const { batches, steady, times } = this.#deps;
    this.#clear();
    this.#underWay = true;
    const askedAt = steady();
    let news: News | null = null;
    const writes = this.#writeSources.flatMap((source) => source());
    if (this.#silent.length > 0) writes.push(declareDead(this.#silent));
    const readNews = newsWrite(this.#broadcastLogAfter, (row) => {
      news = { ...row, askedAt, landedAt: steady() };
    });
    for (const write of [...writes, readNews]) batches.add(write);
    batches.flush((landed) => {
      this.#underWay = false;
      if (landed === null) this.close();
      if (this.#closed) return;
      if (news !== null) this.#receive(news);
      const dueAt = Math.min(this.#dueAt, askedAt + times.heartbeatMs);
      this.#dueAt = Infinity;
      this.sendWithin(Math.max(0, dueAt - steady()));
    });
  }

  #receive(news: News): void {
    const others = news.alive.filter(({ id }) => id !== this.#deps.id);
    const before = new Set(this.#silent.map(({ id }) => id));
    this.#silent = this.#silence.observe(others, news.landedAt);
    if (this.#silent.some(({ id }) => !before.has(id))) this.sendNow();
    this.#broadcastLogAfter = news.broadcastLog.at(-1)?.n ?? this.#broadcastLogAfter;
    for (const listener of this.#newsListeners) listener(news);
  }
}

type LastBatch = { readonly id: number; readonly grp: number };

type Watched = {
  readonly grp: number;
  /** For how long this instance saw it not move. */
  readonly stillMs: number;
};

/**
 * Finds the instances that have fallen silent. It watches the number of an instance's last batch,
 * which its heartbeats increase, by this machine's steady clock. So setting the server's clock
 * kills no instance.
 */
export class SilenceDetector {
  readonly #deadMs: number;
  #watched = new Map<number, Watched>();
  #observedAt: SteadyTime | null = null;

  constructor(deadMs: number) {
    this.#deadMs = deadMs;
  }

  /**
   * Call it with the live instances of each landed heartbeat. After a gap between two calls this
   * instance knows little of the gap, since the server may have been away for all instances. So at
   * most a third of `deadMs` counts of one gap; a slow server then hides no dead instance. After a
   * gap of two thirds of `deadMs` the watch starts from zero.
   * @param alive without this instance itself
   * @returns the instances that have not moved for `deadMs`
   */
  observe(alive: readonly LastBatch[], at: SteadyTime): readonly LastBatch[] {
    const gapMs = at - (this.#observedAt ?? at);
    const isNew = gapMs >= (2 * this.#deadMs) / 3;
    const countsMs = Math.min(gapMs, this.#deadMs / 3);
    this.#observedAt = at;
    this.#watched = new Map(
      alive.map(({ id, grp }) => {
        const known = isNew ? undefined : this.#watched.get(id);
        return [id, { grp, stillMs: known?.grp === grp ? known.stillMs + countsMs : 0 }];
      }),
    );
    return alive.filter(({ id }) => this.#watched.get(id)!.stillMs >= this.#deadMs);
  }
}

/**
 * A dead instance can write no more. The statement spares an instance that has moved meanwhile. It
 * skips one whose batch is under way, so that nobody waits for it.
 */
export function declareDead(silent: readonly LastBatch[]): Single {
  return {
    kind: 'single',
    text: `
UPDATE svc.instance SET dead = true WHERE id = ANY(ARRAY(
  SELECT was.id FROM json_to_recordset($1) AS x(id bigint, grp bigint)
  JOIN svc.instance AS was ON was.id = x.id AND was.grp = x.grp AND NOT was.dead
  FOR UPDATE OF was SKIP LOCKED
))`,
    values: [JSON.stringify(silent)],
  };
}
