/**
 * The broadcasts and the leases of the instances on one database. Both read their state from the
 * news of a heartbeat, and write theirs with it.
 */
import { Listeners } from '../../../cluster/alone.ts';
import { toText } from '../server/text.ts';
import type { Single } from '../write/writes.ts';
import type { Heartbeat, HeartbeatDeps } from './heartbeat.ts';
import type { News, Broadcast } from './news.ts';
import type { Deadline } from '../../../lib/deadlines.ts';

/** "svc2" in ASCII: the advisory lock under which broadcasts get their numbers. */
const lockKey = 0x73766332;
/** How soon the next heartbeat comes while a broadcast waits for the other instances. */
const pollMs = 200;

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
  readonly #listeners = new Listeners();
  readonly #faulted: (error: unknown) => void;
  #unwritten: Single[] = [];
  readonly #waiting = new Set<Waiting>();
  #delivery: Promise<void> = Promise.resolve();
  #read: number;
  /** The value of `#read` that the database has. */
  #readWritten: number;
  #closed = false;

  /**
   * @param faulted called with the error of a listener, which must not throw; the other broadcasts
   *   go on
   */
  constructor(heartbeat: Heartbeat, deps: HeartbeatDeps, faulted: (error: unknown) => void) {
    this.#deps = deps;
    this.#heartbeat = heartbeat;
    this.#faulted = faulted;
    this.#read = deps.broadcastLogRead;
    this.#readWritten = deps.broadcastLogRead;
    heartbeat.addWrites(() => this.#write());
    heartbeat.onNews((news) => this.#receive(news));
    heartbeat.onEnd(() => this.#end());
  }

  /** @returns ends the subscription */
  on(kind: string, listener: (body: string) => void | Promise<void>): () => void {
    return this.#listeners.on(kind, listener);
  }

  /** Resolves when all instances have heard it, or this instance ends. */
  tell(kind: string, body: string): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting: Waiting = { n: null, resolve };
      this.#waiting.add(waiting);
      this.#unwritten.push(broadcastWrite(kind, body, (n) => (waiting.n = n)));
      this.#heartbeat.sendNow();
    });
  }

  #write(): readonly Single[] {
    const unwritten = this.#unwritten;
    this.#unwritten = [];
    const writes = unwritten.length === 0 ? [] : [lockBroadcastLog, ...unwritten];
    if (this.#read === this.#readWritten) return writes;
    this.#readWritten = this.#read;
    const text = 'UPDATE svc.instance SET board_read = $2 WHERE id = $1';
    return [{ kind: 'single', text, values: [this.#deps.id, this.#read] }, ...writes];
  }

  #receive({ alive, broadcastLog }: News): void {
    const least = Math.min(...alive.map(({ broadcastLogRead }) => broadcastLogRead));
    for (const waiting of this.#waiting) {
      if (waiting.n === null || waiting.n > least) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
    if (this.#waiting.size > 0) this.#heartbeat.sendWithin(pollMs);
    if (broadcastLog.length > 0)
      this.#delivery = this.#delivery.then(() => this.#deliver(broadcastLog));
  }

  async #deliver(broadcastLog: readonly Broadcast[]): Promise<void> {
    for (const { n, kind, body } of broadcastLog) {
      if (this.#closed) return;
      try {
        await this.#listeners.notify(kind, body);
      } catch (error) {
        this.#faulted(error);
      }
      this.#read = n;
    }
    this.#heartbeat.sendNow();
  }

  #end(): void {
    this.#closed = true;
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
function broadcastWrite(kind: string, body: string, onNumber: (n: number) => void): Single {
  return {
    kind: 'single',
    text: 'INSERT INTO svc.board (kind, body) VALUES ($1, $2) RETURNING n',
    values: [toText(kind), toText(body)],
    again: { text: 'SELECT max(n) AS n FROM svc.board', values: [] },
    told: ([row]) => onNumber(row!['n'] as number),
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
  readonly #held = new Set<string>();
  readonly #running = new Map<string, AbortController>();
  readonly #waiting = new Set<() => void>();
  /** Fires when the last heartbeat is too old to trust; null: it already is. */
  #expiry: Deadline | null = null;
  #closed = false;

  constructor(heartbeat: Heartbeat, deps: HeartbeatDeps) {
    this.#deps = deps;
    this.#heartbeat = heartbeat;
    heartbeat.addWrites(() => [...this.#free(), ...this.#take()]);
    heartbeat.onNews((news) => this.#receive(news));
    heartbeat.onEnd(() => this.#end());
  }

  /** Whether this instance surely has it now. */
  holds(name: string): boolean {
    return this.#expiry !== null && this.#held.has(name);
  }

  /** As `withLease` of `Peers`. */
  async hold(name: string, run: Run, until: AbortSignal): Promise<void> {
    if (until.aborted) return;
    this.#wanted.set(name, (this.#wanted.get(name) ?? 0) + 1);
    this.#heartbeat.sendNow();
    try {
      while (!until.aborted) {
        const mayBegin = this.holds(name) && !this.#running.has(name);
        if (!mayBegin) await this.#nextChange(until);
        else if (await this.#run(name, run, until)) return;
      }
    } finally {
      const remaining = this.#wanted.get(name)! - 1;
      if (remaining > 0) this.#wanted.set(name, remaining);
      else this.#wanted.delete(name);
      this.#heartbeat.sendNow();
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
    return !stop.signal.aborted || this.#closed;
  }

  #free(): readonly Single[] {
    const names = [...this.#held].filter((name) => !this.#wanted.has(name));
    if (names.length === 0) return [];
    for (const name of names) this.#held.delete(name);
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
    return !this.#held.has(name) && (owner === null || !this.#alive.has(owner));
  }

  #receive({ alive, leases, askedAt }: News): void {
    this.#owners = new Map(leases.map(({ name, owner }) => [name, owner]));
    this.#alive = new Set(alive.map(({ id }) => id));
    this.#held.clear();
    for (const { name, owner } of leases) if (owner === this.#deps.id) this.#held.add(name);
    for (const [name, stop] of this.#running) if (!this.#held.has(name)) stop.abort(leaseLost());
    this.#trustFor(this.#deps.times.holdMs - (this.#deps.steady() - askedAt));
    this.#wake();
    const isOpen =
      [...this.#wanted.keys()].some((name) => this.#isFree(name)) ||
      [...this.#held].some((name) => !this.#wanted.has(name));
    if (isOpen) this.#heartbeat.sendNow();
  }

  /**
   * The lease was ours when the heartbeat began. From this long afterwards another instance may
   * have it.
   */
  #trustFor(ms: number): void {
    this.#expiry?.cancel();
    this.#expiry = null;
    if (ms > 0) this.#expiry = this.#deps.deadlines.after(ms, () => this.#expire());
    else this.#expire();
  }

  #expire(): void {
    this.#expiry = null;
    for (const stop of this.#running.values()) stop.abort(leaseLost());
  }

  #end(): void {
    this.#closed = true;
    this.#expiry?.cancel();
    this.#expire();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at a heartbeat, when a lease is given up here, or when `until` aborts. */
  #nextChange(until: AbortSignal): Promise<void> {
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

function leaseLost(): Error {
  return new Error('this instance may not have that lease any more');
}
