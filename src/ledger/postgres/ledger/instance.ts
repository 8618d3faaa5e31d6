/**
 * Which process works the rows. Each start is a row of `svc.instance`, which beats while it lives;
 * one that is marked dead can write no more, since every flight asks for its own row.
 *
 * A start of this release begins beside others: peers/peers.ts. One of the release before has the
 * database alone, and here is how it is waited for. A row is alive → dead: by its own orderly end,
 * or by the start that takes over. That is once the beat is ten seconds old by the server's clock,
 * or has not moved while it was watched for as long, or at once where the process was on this
 * machine and is plainly gone.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

/** Without a beat for so long an instance is dead. */
const deadMs = 10_000;
const lookMs = 250;
/** Of the rows of former starts the newest are kept; one whose lanes are not free yet stays. */
export const formerRows =
  'DELETE FROM svc.instance WHERE dead AND buried ' +
  'AND id < (SELECT max(id) FROM svc.instance) - 100';
/** "svc1" in ASCII: the advisory lock under which instances change. */
export const lockKey = 0x73766331;

/** Which process of which machine; `pid` counts within `space`. */
export type ProcessFacts = {
  /** The machine's name, for people. */
  readonly host: string;
  /** The machine since it was started; null: it cannot be told. */
  readonly boot: string | null;
  readonly space: string | null;
  readonly pid: number;
  /** When it began, in the system's ticks; null: it cannot be told. */
  readonly began: string | null;
};

/** Another instance runs. `version` and `process` are null where they cannot be told. */
export type Locked = {
  readonly kind: 'locked';
  readonly since: Date;
  readonly version: string | null;
  readonly process: ProcessFacts | null;
};

export type TakingDeps = {
  readonly version: string;
  readonly self: ProcessFacts;
  /** Left out: this machine's. */
  readonly steady?: () => SteadyTime;
  /** Is told once when the beat of another one must grow old first. */
  readonly waits?: (ms: number) => void;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
};

/** The last beat of each instance. */
export type Heartbeats = ReadonlyMap<number, string>;

/** One that may be alive. */
export type Other = {
  readonly id: number;
  readonly version: string;
  readonly process: string;
  /** Milliseconds since 1970 by the server's clock. */
  readonly beganAt: number;
  readonly heartbeat: string;
  /** Of the beat, in milliseconds. */
  readonly age: number;
};

export type Attempt<Got> = { readonly got: Got } | { readonly inTheWay: Other };

/**
 * Tries until no other one is in the way, or one has beaten while it was watched.
 * @param attempt is given those whose beats were watched for long enough, each as it was
 * @throws what `attempt` rejects with, or the reason of the signal
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
    // The server's clock may have been set back, and a beat lie ahead of it.
    const still = steady() - watchedFrom > deadMs ? heartbeats : nothingWatched;
    const found = await attempt(still);
    if ('got' in found) return found;
    const { inTheWay } = found;
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

/** Whether its beat is too old, or was watched for long enough, or its process plainly gone. */
export function hasEnded(
  { id, age, heartbeat, process }: Other,
  still: Heartbeats,
  self: ProcessFacts,
): boolean {
  return age >= deadMs || still.get(id) === heartbeat || isGone(process, self);
}

/**
 * A time crosses the wire as a number: how a timestamp reads is a setting of the database and of
 * the role (`DateStyle`, `TimeZone`). A pooler keeps no setting of a session, so none is made.
 */
export const epochMs = (time: string): string =>
  `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
export const beganColumn = `${epochMs('began_at')} AS "beganAt"`;
export const othersColumns =
  `id, version, process, ${beganColumn}, extract(epoch FROM beat_at)::text AS heartbeat, ` +
  `${epochMs('clock_timestamp() - beat_at')} AS age`;

/** An orderly end: the next start need not wait, and blames nobody. */
export const endedClean = {
  text: 'UPDATE svc.instance SET dead = true, ended = $2 WHERE id = $1 AND NOT dead',
  values: (id: number): readonly unknown[] => [id, JSON.stringify({ clean: true })],
};

/** The storage failed: no message ended this process. */
export const endedByStorage = {
  text: 'UPDATE svc.instance SET ended = $2 WHERE id = $1 AND ended IS NULL',
  values: (id: number, alone: string | null): readonly unknown[] => {
    return [id, JSON.stringify({ alone })];
  },
};

/** This process; what the system does not tell is null. */
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

/** Whether it was a process of this machine that is no more. What cannot be told is not gone. */
export function isGone(stored: string, self: ProcessFacts): boolean {
  const other = factsOf(stored);
  if (other === null || other.boot === null || other.began === null) return false;
  if (other.boot !== self.boot || other.space !== self.space) return false;
  const stat = statOf(other.pid);
  // Without a look into it, it may be hidden: it is another user's.
  if (stat === null) return !exists(other.pid);
  // A zombie runs no more.
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

/** The third and 22nd field (proc(5)); the second, its name in brackets, may hold blanks. */
function statOf(pid: number): Stat | null {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, began] = [fields[0], fields[19]];
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
