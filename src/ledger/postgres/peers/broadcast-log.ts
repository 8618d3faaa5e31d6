/**
 * What instances tell each other. A row of the board has a number, which follows the commits, and
 * each instance says with its beat up to which number it has acted. It hears itself in the same
 * way, so that all hear all in one order, one after the other.
 */
import { Ears } from '../../../cluster/alone.ts';
import { toText } from '../server/text.ts';
import type { Single } from '../write/writes.ts';
import type { Heartbeat, HeartbeatDeps } from './heartbeat.ts';
import type { News, Told } from './news.ts';

/** "svc2" in ASCII: the advisory lock under which the board grows. */
const lockKey = 0x73766332;
/** While one waits for the others it looks this often. */
const lookMs = 200;

/** What all have heard, and who comes now need not hear. */
export const readBroadcastLogRows =
  "DELETE FROM svc.board WHERE at < clock_timestamp() - interval '1 hour' AND n <= " +
  '(SELECT coalesce(min(board_read), 0) FROM svc.instance WHERE NOT dead)';

/** `n` is null until it stands on the board. */
type Waiting = { n: number | null; readonly resolve: () => void };

export class BroadcastLog {
  readonly #deps: HeartbeatDeps;
  readonly #heartbeat: Heartbeat;
  readonly #ears = new Ears();
  readonly #faulted: (error: unknown) => void;
  #unsaid: Single[] = [];
  readonly #waiting = new Set<Waiting>();
  #hearing: Promise<void> = Promise.resolve();
  #read: number;
  /** What the database has of `#read`. */
  #readThere: number;
  #over = false;

  /** @param faulted is told of ears that throw, which they must not; all else is heard */
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

  /** @returns how to hear no more */
  on(kind: string, heard: (body: string) => void | Promise<void>): () => void {
    return this.#ears.on(kind, heard);
  }

  /** Resolves when all have heard it, or this instance ends. */
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

/** Where its number was lost, the highest one does as well: it is no lower. */
function reportWrite(kind: string, body: string, told: (n: number) => void): Single {
  return {
    kind: 'single',
    text: 'INSERT INTO svc.board (kind, body) VALUES ($1, $2) RETURNING n',
    values: [toText(kind), toText(body)],
    again: { text: 'SELECT max(n) AS n FROM svc.board', values: [] },
    told: ([row]) => told(row!['n'] as number),
  };
}
