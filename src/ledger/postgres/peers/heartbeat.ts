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

/**
 * Who has fallen silent. An instance is watched by the number of its last flight, which its beats
 * move, and by this machine's steady clock: what anybody sets the server's clock to kills nobody.
 */
type Seen = { readonly id: number; readonly grp: number };

type Watched = {
  readonly grp: number;
  /** For how long it was seen not to move. */
  readonly stillMs: number;
};

export class Silence {
  readonly #deadMs: number;
  #watched = new Map<number, Watched>();
  #lookedAt: SteadyTime | null = null;

  constructor(deadMs: number) {
    this.#deadMs = deadMs;
  }

  /**
   * To be called with what each landed beat has found. Who could not look for a while knows little
   * of that while, since the server may have been away for all: of the time between two looks a
   * third of what it takes to be dead counts at most, so that a server that is slow hides nobody;
   * and after two thirds of it the watch begins anew.
   * @param alive without this instance itself
   * @returns those that have not moved for as long as it takes to be dead
   */
  look(alive: readonly Seen[], at: SteadyTime): readonly Seen[] {
    const gapMs = at - (this.#lookedAt ?? at);
    const isNew = gapMs >= (2 * this.#deadMs) / 3;
    const countsMs = Math.min(gapMs, this.#deadMs / 3);
    this.#lookedAt = at;
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
 * From then on they can write no more. One that has moved meanwhile lives; one whose flight is
 * under way just now is left for the next time, so that nobody waits for it.
 */
export function declareDead(silent: readonly Seen[]): Single {
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
