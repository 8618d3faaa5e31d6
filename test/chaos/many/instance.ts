/**
 * One of several svc on one database, under a service manager that starts it again after each end.
 * An end without an explanation is a fault.
 *
 * starting → up ⇄ paused; any of them → ended → starting
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Way } from '../../fake/postgres/way.ts';
import type { Program } from '../../support/program.ts';
import { until } from '../../support/waiting.ts';

/**
 * Strikes on an instance. `pause` and `away` (it cannot reach the server) count only where it still
 * starts, or where they last so long that the others may take it for dead.
 */
export type Struck = 'kill' | 'term' | 'pause' | 'away';

/** A start, and how it ended. */
export type Life = {
  readonly program: Program;
  /** The lead of its time of day. */
  readonly aheadMs: number;
  readonly struck: Set<Struck>;
  /** Its log says that it listens. */
  hasListened: boolean;
  /** The end of its last pause, by performance.now(); null: it was not paused. */
  wentOnAt: number | null;
  how: number | string | null;
};

/** Delays a start, while only the others may work a queue. */
type Gate = { readonly open: Promise<void>; readonly release: () => void };

const begun = { hasListened: false, wentOnAt: null, how: null };
/** After nine silent seconds a svc is dead; its last heartbeat may be some time ago. */
const mayBeDeadMs = 5_000;
/** Between an end and the start after it. */
const restartMs = 100;
const logMax = 6_000;

export type InstanceParts = Pick<Instance, 'name' | 'port' | 'adminPort' | 'ways'> & {
  /** Starts svc with a time of day ahead of this machine's. */
  readonly spawn: (aheadMs: number) => Program;
  readonly drawAheadMs: () => number;
};

export class Instance implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly adminPort: number;
  /** One to each server. */
  readonly ways: readonly Way[];
  readonly lives: Life[] = [];
  /** Ends without an explanation, each with the log before it. */
  readonly faults: string[] = [];
  /**
   * Ends of a svc that was taken for dead, that missed its server for too long, or that found the
   * server slow at its start.
   */
  endedItself = 0;
  isPaused = false;
  readonly #spawn: (aheadMs: number) => Program;
  readonly #drawAheadMs: () => number;
  #over = false;
  #outages = 0;
  #gate: Gate | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor({ name, port, adminPort, ways, spawn, drawAheadMs }: InstanceParts) {
    this.name = name;
    this.port = port;
    this.adminPort = adminPort;
    this.ways = ways;
    this.#spawn = spawn;
    this.#drawAheadMs = drawAheadMs;
  }

  /** Starts it now and after each end. */
  begin(): void {
    this.#running = this.#run();
  }

  get life(): Life {
    return this.lives.at(-1)!;
  }

  get pid(): number {
    return this.life.program.child.pid!;
  }

  /** It listens. */
  get isUp(): boolean {
    const life = this.lives.at(-1);
    return life !== undefined && life.hasListened && life.how === null;
  }

  /** It listens, and is neither paused nor stopping. */
  get isAtWork(): boolean {
    return this.isUp && !this.isPaused && !this.life.struck.has('term');
  }

  untilUp(): Promise<void> {
    return until(`${this.name} listens`, () => this.isUp || this.faults.length > 0);
  }

  /** Delays each start from now on. @returns a function that ends the delay */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = { open: promise, release: resolve };
    return () => {
      this.#gate = null;
      resolve();
    };
  }

  /** SIGKILL; resolves when it has ended. */
  async kill(): Promise<void> {
    const { life } = this;
    life.struck.add('kill');
    life.program.child.kill('SIGKILL');
    await life.program.ended;
  }

  /** SIGTERM; resolves when it has ended. */
  async terminate(): Promise<void> {
    const { life } = this;
    life.struck.add('term');
    life.program.child.kill('SIGTERM');
    await life.program.ended;
  }

  /** SIGSTOP, and SIGCONT after that time. */
  pauseFor(ms: number): Promise<void> {
    return this.pauseUntil(pause(ms, undefined, { ref: false }), ms > mayBeDeadMs);
  }

  /**
   * SIGSTOP, and SIGCONT when that is over.
   * @param long so long that the others may take it for dead
   */
  async pauseUntil(over: Promise<unknown>, long = true): Promise<void> {
    const { life } = this;
    if (life.how !== null || this.isPaused) return;
    if (long) life.struck.add('pause');
    this.isPaused = true;
    life.program.child.kill('SIGSTOP');
    try {
      await Promise.race([over, life.program.ended]);
    } finally {
      life.wentOnAt = performance.now();
      life.program.child.kill('SIGCONT');
      this.isPaused = false;
    }
  }

  /** Resets every connection to a server. */
  cut(): void {
    if (!this.life.hasListened) this.life.struck.add('away');
    for (const way of this.ways) way.cut();
  }

  /** Holds everything that it sends to a server for this time. */
  async silence(ms: number): Promise<void> {
    for (const way of this.ways) way.hold();
    await this.without(pause(ms), ms);
    for (const way of this.ways) way.release();
  }

  /** Notes that it has no server until that is over, which takes `ms`. */
  async without(over: Promise<unknown>, ms: number): Promise<void> {
    const { life } = this;
    if (ms > mayBeDeadMs || !life.hasListened) life.struck.add('away');
    this.#outages++;
    await over;
    this.#outages--;
  }

  /** Its last log lines. */
  log(): string {
    const all = this.lives.slice(-2).map(({ program, aheadMs, struck, how }) => {
      const done = [...struck].join(', ') || 'nothing';
      const about = `clock ${aheadMs} ms ahead, struck by ${done}, ended by ${how}`;
      return `${this.name} (${about}):\n${program.log().slice(-logMax)}`;
    });
    return all.join('\n');
  }

  /** Stops it for good. @returns how it ended after a SIGTERM */
  async end(): Promise<number | string> {
    this.#over = true;
    await this.terminate();
    await this.#running;
    return this.life.how!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    this.#gate?.release();
    const life = this.lives.at(-1);
    life?.struck.add('kill');
    await life?.program[Symbol.asyncDispose]();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      const aheadMs = this.#drawAheadMs();
      const program = this.#spawn(aheadMs);
      const life: Life = { program, aheadMs, struck: new Set(), ...begun };
      if (this.#outages > 0) life.struck.add('away');
      this.lives.push(life);
      const listens = (): void => void (life.hasListened = true);
      program.saw('"listening"').then(listens, () => {});
      life.how = await program.ended;
      this.#judge(life);
      await this.#gate?.open;
      await pause(restartMs);
    }
  }

  #judge({ how, struck, program, hasListened }: Life): void {
    if (how === 'SIGKILL' && struck.has('kill')) return;
    if (how === 0 && struck.has('term')) return;
    const log = program.log();
    // A busy machine may be too slow for a start.
    const isLate = !hasListened && log.includes('it took too long');
    const isExplained = struck.has('pause') || struck.has('away') || isLate;
    if (how === 1 && isExplained && /database|storage/i.test(log)) {
      this.endedItself++;
      return;
    }
    const why = [...struck].join(', ') || 'nothing';
    this.faults.push(`${this.name} ended with ${how} after ${why}:\n${log.slice(-logMax)}`);
  }
}
