/**
 * A backend of the ledger under a clock that the test moves, and that may die. The PostgreSQL
 * backend dies when another one takes over, as from a dead process. The SQLite backend is
 * abandoned: a copy of its files of that moment is opened elsewhere. A kill leaves the same when no
 * write is under way; other proofs kill processes and cut the power during writes.
 */
import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { type Clock, type SteadyTime } from '../../../src/lib/clock.ts';
import {
  createIdSource,
  type ChannelKey,
  type ConversationId,
  type IdSource,
} from '../../../src/domain/ids.ts';
import { createMemoryLedger } from '../../../src/ledger/memory/memory.ts';
import { openSqliteLedger } from '../../../src/ledger/sqlite/sqlite.ts';
import { openPostgresStore } from '../../../src/ledger/postgres/postgres.ts';
import { ownProcess } from '../../../src/ledger/postgres/ledger/instance.ts';
import { ServerReads } from '../../../src/ledger/postgres/server/reads.ts';
import { sqliteLimits } from '../../../src/ledger/sqlite/ledger/limits.ts';
import { newDatabase } from '../../fake/postgres.ts';
import type { Effects, Ledger } from '../../../src/ledger/ledger.ts';

/** Puts a bug around a ledger each time it opens; `crashes` counts the earlier crashes. */
export type Plant = (ledger: Ledger, crashes: number) => Ledger;
export const sound: Plant = (ledger) => ledger;

export type BackendName = 'memory' | 'sqlite' | 'postgres';

/**
 * Runs with `setTimeout` stopped: deadlines come due when the world's clock moves. Counts queries
 * to a database server until each is answered.
 */
export async function withStoppedTimers<T>(run: () => Promise<T>): Promise<T> {
  mock.timers.enable({ apis: ['setTimeout'] });
  const ask = Reflect.get(ServerReads.prototype, 'ask');
  const counted = mock.method(ServerReads.prototype, 'ask', askCounted(ask));
  try {
    return await run();
  } finally {
    counted.mock.restore();
    mock.timers.reset();
  }
}

/** Queries without an answer yet. */
let asked = 0;

function askCounted(ask: ServerReads['ask']): ServerReads['ask'] {
  return async function (this: ServerReads, question) {
    asked++;
    try {
      return await ask.call(this, question);
    } finally {
      asked--;
    }
  };
}

export type WorldOptions = {
  readonly backend: BackendName;
  readonly messagesMax: number;
  readonly random: () => number;
  readonly plant: Plant;
};

export abstract class World implements AsyncDisposable {
  abstract readonly durable: boolean;
  ledger!: Ledger;
  /** The ledger detects a message that kills the process again and again. */
  readonly crashIsolations = 'aloneMs' in sqliteLimits;
  now = startAt;
  readonly clock: Clock = {
    now: () => this.now,
    steady: () => (this.now - startAt) as SteadyTime,
  };
  crashes = 0;
  /** Whether this backend does what people ask of it. */
  people = false;
  readonly ids: IdSource;
  protected readonly options: WorldOptions;

  constructor(options: WorldOptions) {
    this.options = options;
    const fill = (bytes: Uint8Array): void => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(options.random() * 256);
    };
    this.ids = createIdSource(() => this.now, fill);
  }

  /** Moves the clock, and runs all due timers. */
  pass(ms: number): void {
    this.now += ms;
    mock.timers.tick(ms);
  }

  /** Waits for a request to the ledger, and for everything that it needs meanwhile. */
  during<T>(act: Promise<T>): Promise<T> {
    return act;
  }

  /** Resolves when nothing is under way any more. */
  abstract settle(): Promise<void>;
  /** A clean stop and a start. */
  abstract reopen(): Promise<void>;
  abstract crash(): Promise<void>;
  abstract [Symbol.asyncDispose](): Promise<void>;
}

/** Ahead of the machine's clock, so that no row is old enough for the cleanup. */
const startAt = Date.now() + 86_400_000;

export async function openWorld(options: WorldOptions): Promise<World> {
  const world = makeWorld(options);
  if (!(world instanceof MemoryWorld)) await world.open();
  world.people = await forgets(world);
  return world;
}

function makeWorld(options: WorldOptions): MemoryWorld | SqliteWorld | PostgresWorld {
  if (options.backend === 'memory') return new MemoryWorld(options);
  return options.backend === 'sqlite' ? new SqliteWorld(options) : new PostgresWorld(options);
}

/** A backend that can forget does all requests of people. */
async function forgets(world: World): Promise<boolean> {
  const { ledger } = world;
  const channel = 'webhook' as ChannelKey;
  const conversation = 'nobody' as ConversationId;
  const address = { channel, target: conversation };
  const facts = { text: 'hello', media: null, sender: { id: 'nobody', name: null } };
  await ledger.accept([{ channel, conversation, address, ...facts, dedupeKey: null }]);
  const forgotten = ledger.forget({ kind: 'conversation', channel, conversation });
  if ((await world.during(forgotten)) > 0) return true;
  const [claim] = await ledger.claim('in', channel, 1);
  await ledger.complete(claim!, nothing);
  return false;
}

const nothing: Effects = {
  replies: [],
  turn: null,
  session: null,
  imported: null,
  leftOut: [],
  doubted: [],
  notes: [],
  toolUses: [],
  unsent: [],
  trace: null,
};

class MemoryWorld extends World {
  readonly durable = false;

  constructor(options: WorldOptions) {
    super(options);
    const { messagesMax, plant } = options;
    const limits = { messagesMax };
    const ledger = createMemoryLedger({ ...this.clock, ids: this.ids, limits });
    this.ledger = plant(ledger, 0);
  }

  async settle(): Promise<void> {
    mock.timers.tick(1);
    // Waits that end at once end one after the other.
    for (let turns = 0; turns < 40; turns++) await Promise.resolve();
  }

  reopen(): Promise<void> {
    return Promise.reject(new Error('the memory form keeps nothing'));
  }

  crash(): Promise<void> {
    return this.reopen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
  }
}

const fast = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

class SqliteWorld extends World {
  readonly durable = true;
  readonly #folder = mkdtempSync(join(fast, 'svc-model-'));
  /** Resolves when the abandoned ledgers have ended. */
  #left: Promise<void> = Promise.resolve();

  get #path(): string {
    return join(this.#folder, `${this.crashes}.db`);
  }

  async open(): Promise<void> {
    const { messagesMax, plant } = this.options;
    const { ids, clock } = this;
    const options = { path: this.#path, ids, retentionDays: 0, limits: { messagesMax } };
    const ledger = await openSqliteLedger({ ...options, ...clock });
    if ('kind' in ledger) throw new Error(ledger.message);
    this.ledger = plant(ledger, this.crashes);
  }

  async settle(): Promise<void> {
    do {
      mock.timers.tick(5);
      await new Promise(setImmediate);
    } while (this.ledger.gauges().commitsPending > 0);
    mock.timers.tick(1);
    for (let turns = 0; turns < 4; turns++) await Promise.resolve();
  }

  async reopen(): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
    await this.open();
  }

  async crash(): Promise<void> {
    const from = this.#path;
    const { ledger } = this;
    this.crashes++;
    for (const end of ['', '-wal']) {
      if (existsSync(from + end)) copyFileSync(from + end, this.#path + end);
    }
    await this.#left;
    this.#left = this.#leave(ledger, from);
    await this.open();
  }

  async #leave(ledger: Ledger, path: string): Promise<void> {
    await ledger[Symbol.asyncDispose]();
    for (const end of ['', '-wal', '-shm', '.lock']) await rm(path + end, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#left;
    await this.ledger[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Longer than any walk, so no timer of the write batches comes due in it. */
const neverMs = 2 ** 31 - 1;
const heartbeatMs = 1_000;
/** The machine's own timer, in spite of the world's clock. */
const machineTimeout = setTimeout;

class PostgresWorld extends World {
  readonly durable = true;
  #url: string | null = null;
  #life = new AbortController();
  #left: Promise<void> = Promise.resolve();

  async open(): Promise<void> {
    this.#url ??= await newDatabase();
    const { messagesMax, plant } = this.options;
    const opening = openPostgresStore({
      url: this.#url,
      ids: this.ids,
      ...this.clock,
      retentionDays: 0,
      version: 'model',
      limits: { messagesMax },
      times: { awayMs: neverMs, heartbeatMs: neverMs, holdMs: neverMs },
      peersTimes: { heartbeatMs, deadMs: neverMs, holdMs: neverMs },
      // A process that began before all others counts as dead.
      self: { ...ownProcess(), began: '0' },
      killed: this.#life.signal,
    });
    const store = await this.during(opening);
    if ('kind' in store) throw new Error(store.message);
    this.ledger = plant(store.ledger, this.crashes);
  }

  /**
   * The wait for parked replies checks at each heartbeat. A query carries the time of its start, so
   * the server must answer it before the clock moves.
   */
  async settle(): Promise<void> {
    await this.#land();
    mock.timers.tick(heartbeatMs);
    do {
      await this.#land();
      mock.timers.tick(1);
    } while (!this.#isCalm);
    for (let turns = 0; turns < 4; turns++) await Promise.resolve();
  }

  override async during<T>(act: Promise<T>): Promise<T> {
    let isOver = false;
    const over = act.finally(() => (isOver = true));
    await ticking(() => isOver);
    return over;
  }

  async reopen(): Promise<void> {
    await this.during(this.ledger[Symbol.asyncDispose]());
    await this.open();
  }

  async crash(): Promise<void> {
    const { ledger } = this;
    this.crashes++;
    this.#life.abort();
    this.#life = new AbortController();
    await this.during(this.#left);
    this.#left = ledger[Symbol.asyncDispose]();
    await this.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.during(this.#left);
    await this.during(this.ledger[Symbol.asyncDispose]());
  }

  #land(): Promise<void> {
    return ticking(() => this.#isCalm);
  }

  get #isCalm(): boolean {
    return asked === 0 && this.ledger.gauges().commitsPending === 0;
  }
}

/** Lets short timers come due until `isSo`. */
async function ticking(isSo: () => boolean): Promise<void> {
  for (let looks = 0; ; looks++) {
    mock.timers.tick(5);
    await new Promise(setImmediate);
    if (isSo()) return;
    // The server has other work, too, and many ticks would end a connection.
    if (looks > 100) await new Promise((resolve) => machineTimeout(resolve, 1));
  }
}
