/**
 * The instances of a database: one row of `svc.instance` for each start of svc. A live instance
 * updates its row with every batch. An instance whose row is marked dead cannot write any more,
 * since the fence of each batch checks the row.
 *
 * A start of this release joins the others: see peers/peers.ts. An instance of the release before
 * has the database alone, and this file waits for its end. A row goes from alive to dead by an
 * orderly end, or by the start that takes over. A start takes over in three cases:
 * - the heartbeat is more than 10 s old by the server's clock;
 * - the start has watched the row for as long, and the heartbeat did not change;
 * - the process ran on this machine and no longer exists.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

/** An instance without a heartbeat for so long is dead. */
const deadMs = 10_000;
const lookMs = 250;
/** Deletes old dead rows. Rows of instances whose queues are not free yet stay. */
export const formerRows =
  'DELETE FROM svc.instance WHERE dead AND buried ' +
  'AND id < (SELECT max(id) FROM svc.instance) - 100';
/** The advisory lock for starts: "svc1" in ASCII. */
export const lockKey = 0x73766331;

/** Identifies a process on its machine. */
export type ProcessFacts = {
  /** The host name, for people. */
  readonly host: string;
  /** The id of the machine's boot; null: unknown. */
  readonly boot: string | null;
  /** The PID namespace, in which `pid` counts; null: unknown. */
  readonly space: string | null;
  readonly pid: number;
  /** The start time of the process in clock ticks of the system; null: unknown. */
  readonly began: string | null;
};

/** Another instance has the database. `version` and `process` are null when unknown. */
export type Locked = {
  readonly kind: 'locked';
  readonly since: Date;
  readonly version: string | null;
  readonly process: ProcessFacts | null;
};

export type TakingDeps = {
  readonly version: string;
  readonly self: ProcessFacts;
  /** Absent: the steady clock of this machine. */
  readonly steady?: () => SteadyTime;
  /** Called when the start must wait for the end of another instance. `ms`: at most so long. */
  readonly waits?: (ms: number) => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
};

/** Instance → its last heartbeat. */
export type Heartbeats = ReadonlyMap<number, string>;

/** Another instance, which may be alive. */
export type Other = {
  readonly id: number;
  readonly version: string;
  readonly process: string;
  /** Milliseconds since 1970 by the server's clock. */
  readonly beganAt: number;
  readonly heartbeat: string;
  /** The age of the heartbeat in milliseconds. */
  readonly age: number;
};

export type Attempt<Got> = { readonly got: Got } | { readonly inTheWay: Other };

/**
 * Repeats `attempt` until no other instance is in the way.
 * @param attempt gets the heartbeats that did not change while this function watched for `deadMs`
 * @returns `locked` when the heartbeat of the other instance changed: that instance is alive
 * @throws the rejection of `attempt`, or the reason of the signal
 */
export async function untilFree<Got>(
  deps: TakingDeps,
  attempt: (still: Heartbeats) => Promise<Attempt<Got>>,
): Promise<{ readonly got: Got } | Locked> {
  const heartbeats = new Map<number, string>();
  const { steady = steadyNow } = deps;
  let watchedFrom = steady();
  for (;;) {
    deps.signal?.throwIfAborted();
    // After the server's clock was set back, a heartbeat may lie ahead of it and never grow old.
    const still = steady() - watchedFrom > deadMs ? heartbeats : nothingWatched;
    const result = await attempt(still);
    if ('got' in result) return result;
    const { inTheWay } = result;
    const known = heartbeats.get(inTheWay.id);
    if (known !== undefined && known !== inTheWay.heartbeat) {
      const { beganAt, version } = inTheWay;
      const since = new Date(beganAt);
      return { kind: 'locked', since, version, process: factsOf(inTheWay.process) };
    }
    if (known === undefined) {
      watchedFrom = steady();
      deps.waits?.(Math.min(deadMs, deadMs - inTheWay.age));
    }
    heartbeats.set(inTheWay.id, inTheWay.heartbeat);
    await pause(lookMs, undefined, deps.signal === undefined ? {} : { signal: deps.signal });
  }
}

const nothingWatched: Heartbeats = new Map();

/** True if the heartbeat is too old or was watched for long enough, or the process is gone. */
export function hasEnded(
  { id, age, heartbeat, process }: Other,
  still: Heartbeats,
  self: ProcessFacts,
): boolean {
  return age >= deadMs || still.get(id) === heartbeat || isGone(process, self);
}

/**
 * SQL for a time in milliseconds since 1970. The text of a timestamp depends on settings of the
 * database and the role (`DateStyle`, `TimeZone`), and a pooler keeps no session settings.
 */
export const epochMs = (time: string): string =>
  `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
export const beganColumn = `${epochMs('began_at')} AS "beganAt"`;
export const othersColumns =
  `id, version, process, ${beganColumn}, extract(epoch FROM beat_at)::text AS heartbeat, ` +
  `${epochMs('clock_timestamp() - beat_at')} AS age`;

/** Marks an orderly end: the next start need not wait, and it suspects no message. */
export const endedClean = {
  text: 'UPDATE svc.instance SET dead = true, ended = $2 WHERE id = $1 AND NOT dead',
  values: (id: number): readonly unknown[] => [id, JSON.stringify({ clean: true })],
};

/** Notes that the storage failed, so the next start suspects no message but `alone`. */
export const endedByStorage = {
  text: 'UPDATE svc.instance SET ended = $2 WHERE id = $1 AND ended IS NULL',
  values: (id: number, alone: string | null): readonly unknown[] => {
    return [id, JSON.stringify({ alone })];
  },
};

/** The facts of this process. */
export function ownProcess(): ProcessFacts {
  const { pid } = process;
  return {
    host: hostname(),
    boot: read('/proc/sys/kernel/random/boot_id'),
    space: link('/proc/self/ns/pid'),
    pid,
    began: statOf(pid)?.began ?? null,
  };
}

/** True only if the process ran on this machine and surely no longer exists. */
export function isGone(stored: string, self: ProcessFacts): boolean {
  const other = factsOf(stored);
  if (other === null || other.boot === null || other.began === null) return false;
  if (other.boot !== self.boot || other.space !== self.space) return false;
  const stat = statOf(other.pid);
  // The system may hide the process of another user, so test its pid too.
  if (stat === null) return !exists(other.pid);
  // A zombie process does not run any more.
  return stat.began !== other.began || stat.state === 'Z';
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function factsOf(stored: string): ProcessFacts | null {
  try {
    return JSON.parse(stored) as ProcessFacts;
  } catch {
    return null;
  }
}

type Stat = { readonly state: string; readonly began: string };

/** Fields 3 and 22 of proc(5). Field 2, the name in brackets, may contain spaces. */
function statOf(pid: number): Stat | null {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const state = fields[0];
  const began = fields[19];
  return state === undefined || began === undefined ? null : { state, began };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
