/**
 * The broadcasts and the leases of the instances on one database. Both read their state from the
 * news of a heartbeat, and write theirs with it.
 */
import { Ears } from '../../../cluster/alone.ts';
import { toText } from '../server/text.ts';
import type { Single } from '../write/writes.ts';
import type { Heartbeat, HeartbeatDeps } from './heartbeat.ts';
import type { News, Told } from './news.ts';
import type { Deadline } from '../../../lib/deadlines.ts';

/** "svc2" in ASCII: the advisory lock under which broadcasts get their numbers. */
const lockKey = 0x73766332;
/** How soon the next heartbeat comes while a broadcast waits for the other instances. */
const lookMs = 200;

/**
 * Deletes broadcasts that all instances have heard; an instance that starts now need not hear them.
 */
export const readBroadcastLogRows =
  "DELETE FROM svc.board WHERE at < clock_timestamp() - interval '1 hour' AND n <= " +
  '(SELECT coalesce(min(board_read), 0) FROM svc.instance WHERE NOT dead)';

/** `n` is null until the broadcast has its number in the database. */
type Waiting = { n: number | null; readonly resolve: () => void };

/**
 * Broadcasts between instances. A broadcast has a number, and the numbers follow the order of the
 * commits. Each instance reports with its heartbeat up to which number it has acted. It hears its
 * own broadcasts in the same way, so all instances hear all broadcasts in one order, one at a time.
 */
export class BroadcastLog {
  readonly #deps: HeartbeatDeps;
  readonly #heartbeat: Heartbeat;
  readonly #ears = new Ears();
  readonly #faulted: (error: unknown) => void;
  #unsaid: Single[] = [];
  readonly #waiting = new Set<Waiting>();
  #hearing: Promise<void> = Promise.resolve();
  #read: number;
  /** The value of `#read` that the database has. */
  #readThere: number;
  #over = false;

  /**
   * @param faulted called with the error of a listener, which must not throw; the other broadcasts
   *   go on
   */
  constructor(heartbeat: Heartbeat, deps: HeartbeatDeps, faulted: (error: unknown) => void) {
    this.#deps = deps;
    this.#heartbeat = heartbeat;
    this.#faulted = faulted;
    this.#read = deps.broadcastLogRead;
    this.#readThere = deps.broadcastLogRead;
    heartbeat.bring(() => this.#write());
    heartbeat.onNews((news) => this.#hear(news));
    heartbeat.onEnd(() => this.#end());
  }

  /** @returns ends the subscription */
  on(kind: string, heard: (body: string) => void | Promise<void>): () => void {
    return this.#ears.on(kind, heard);
  }

  /** Resolves when all instances have heard it, or this instance ends. */
  tell(kind: string, body: string): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting: Waiting = { n: null, resolve };
      this.#waiting.add(waiting);
      this.#unsaid.push(reportWrite(kind, body, (n) => (waiting.n = n)));
      this.#heartbeat.now();
    });
  }

  #write(): readonly Single[] {
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    const writes = unsaid.length === 0 ? [] : [lockBroadcastLog, ...unsaid];
    if (this.#read === this.#readThere) return writes;
    this.#readThere = this.#read;
    const text = 'UPDATE svc.instance SET board_read = $2 WHERE id = $1';
    return [{ kind: 'single', text, values: [this.#deps.id, this.#read] }, ...writes];
  }

  #hear({ alive, broadcastLog }: News): void {
    const least = Math.min(...alive.map(({ broadcastLogRead }) => broadcastLogRead));
    for (const waiting of this.#waiting) {
      if (waiting.n === null || waiting.n > least) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
    if (this.#waiting.size > 0) this.#heartbeat.within(lookMs);
    if (broadcastLog.length > 0) this.#hearing = this.#hearing.then(() => this.#act(broadcastLog));
  }

  async #act(broadcastLog: readonly Told[]): Promise<void> {
    for (const { n, kind, body } of broadcastLog) {
      if (this.#over) return;
      try {
        await this.#ears.tell(kind, body);
      } catch (error) {
        this.#faulted(error);
      }
      this.#read = n;
    }
    this.#heartbeat.now();
  }

  #end(): void {
    this.#over = true;
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

const lockBroadcastLog: Single = {
  kind: 'single',
  text: 'SELECT pg_advisory_xact_lock($1)',
  values: [lockKey],
};

/** Where the answer with its number was lost, the highest number does as well: it is no lower. */
function reportWrite(kind: string, body: string, told: (n: number) => void): Single {
  return {
    kind: 'single',
    text: 'INSERT INTO svc.board (kind, body) VALUES ($1, $2) RETURNING n',
    values: [toText(kind), toText(body)],
    again: { text: 'SELECT max(n) AS n FROM svc.board', values: [] },
    told: ([row]) => told(row!['n'] as number),
  };
}

type Run = (stop: AbortSignal) => Promise<void>;

/**
 * The leases that this instance wants or has. The database says which instance has a lease; this
 * class says whether that is certain now.
 *
 * A lease is wanted, then held, then free again. An instance takes a lease that no instance has, or
 * that a dead one has. A run is stopped when a heartbeat shows that another instance has its lease,
 * and when no heartbeat has landed for `holdMs`. A timer stops it, so that the stop also comes
 * first after a pause of the whole process. Such a run starts again once it has ended and this
 * instance surely has the lease.
 */
export class Leases {
  readonly #deps: HeartbeatDeps;
  readonly #heartbeat: Heartbeat;
  /** How many callers of this instance want each lease. */
  readonly #wanted = new Map<string, number>();
  /** The owner of each lease by the last heartbeat. */
  #owners: ReadonlyMap<string, number | null> = new Map();
  #alive: ReadonlySet<number> = new Set();
  /** The leases of this instance, without those that it gave up since. */
  readonly #had = new Set<string>();
  readonly #running = new Map<string, AbortController>();
  readonly #waiting = new Set<() => void>();
  /** Fires when the last heartbeat is too old to trust; null: it already is. */
  #lapse: Deadline | null = null;
  #over = false;

  constructor(heartbeat: Heartbeat, deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#heartbeat = heartbeat;
    heartbeat.bring(() => [...this.#free(), ...this.#take()]);
    heartbeat.onNews((news) => this.#hear(news));
    heartbeat.onEnd(() => this.#end());
  }

  /** Whether this instance surely has it now. */
  holds(name: string): boolean {
    return this.#lapse !== null && this.#had.has(name);
  }

  /** As `hold` of `Peers`. */
  async hold(name: string, run: Run, until: AbortSignal): Promise<void> {
    if (until.aborted) return;
    this.#wanted.set(name, (this.#wanted.get(name) ?? 0) + 1);
    this.#heartbeat.now();
    try {
      while (!until.aborted) {
        const mayBegin = this.holds(name) && !this.#running.has(name);
        if (!mayBegin) await this.#change(until);
        else if (await this.#run(name, run, until)) return;
      }
    } finally {
      const left = this.#wanted.get(name)! - 1;
      if (left > 0) this.#wanted.set(name, left);
      else this.#wanted.delete(name);
      this.#heartbeat.now();
      this.#wake();
    }
  }

  /** @returns whether the run is complete: it was not stopped because the lease was lost */
  async #run(name: string, run: Run, until: AbortSignal): Promise<boolean> {
    const stop = new AbortController();
    const end = (): void => stop.abort(until.reason);
    until.addEventListener('abort', end);
    this.#running.set(name, stop);
    try {
      await run(stop.signal);
    } finally {
      this.#running.delete(name);
      until.removeEventListener('abort', end);
    }
    return !stop.signal.aborted || this.#over;
  }

  #free(): readonly Single[] {
    const names = [...this.#had].filter((name) => !this.#wanted.has(name));
    if (names.length === 0) return [];
    for (const name of names) this.#had.delete(name);
    const text = 'UPDATE svc.post SET owner = NULL WHERE owner = $1 AND name = ANY($2)';
    return [{ kind: 'single', text, values: [this.#deps.id, names.map(toText)] }];
  }

  /**
   * A number of an instance never comes back, so the number of a dead instance cannot belong to
   * another by now.
   */
  #take(): readonly Single[] {
    const names = [...this.#wanted.keys()].filter((name) => this.#isFree(name)).toSorted();
    if (names.length === 0) return [];
    const dead = names.flatMap((name) => this.#owners.get(name) ?? []);
    const text =
      'INSERT INTO svc.post AS was (name, owner, epoch) ' +
      'SELECT name, $1, 1 FROM unnest($2::text[]) AS x(name) ' +
      'ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = was.epoch + 1 ' +
      'WHERE was.owner IS NULL OR was.owner = ANY($3::bigint[])';
    return [{ kind: 'single', text, values: [this.#deps.id, names.map(toText), dead] }];
  }

  #isFree(name: string): boolean {
    const owner = this.#owners.get(name) ?? null;
    return !this.#had.has(name) && (owner === null || !this.#alive.has(owner));
  }

  #hear({ alive, posts: leases, askedAt }: News): void {
    this.#owners = new Map(leases.map(({ name, owner }) => [name, owner]));
    this.#alive = new Set(alive.map(({ id }) => id));
    this.#had.clear();
    for (const { name, owner } of leases) if (owner === this.#deps.id) this.#had.add(name);
    for (const [name, stop] of this.#running) if (!this.#had.has(name)) stop.abort(lost());
    this.#believe(this.#deps.times.holdMs - (this.#deps.steady() - askedAt));
    this.#wake();
    const isOpen =
      [...this.#wanted.keys()].some((name) => this.#isFree(name)) ||
      [...this.#had].some((name) => !this.#wanted.has(name));
    if (isOpen) this.#heartbeat.now();
  }

  /**
   * The lease was ours when the heartbeat began. From this long afterwards another instance may
   * have it.
   */
  #believe(ms: number): void {
    this.#lapse?.cancel();
    this.#lapse = null;
    if (ms > 0) this.#lapse = this.#deps.deadlines.after(ms, () => this.#doubt());
    else this.#doubt();
  }

  #doubt(): void {
    this.#lapse = null;
    for (const stop of this.#running.values()) stop.abort(lost());
  }

  #end(): void {
    this.#over = true;
    this.#lapse?.cancel();
    this.#doubt();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at a heartbeat, when a lease is given up here, or when `until` aborts. */
  #change(until: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        until.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      until.addEventListener('abort', wake);
    });
  }
}

function lost(): Error {
  return new Error('this instance may not have that post any more');
}
