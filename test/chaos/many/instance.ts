/**
 * One of several svc on one database, as a service manager runs it: however it ends, it is started
 * again. An end that nothing explains is a fault.
 *
 * starting → up ⇄ paused; any of them → ended → starting
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Way } from '../../fake/postgres/way.ts';
import type { Program } from '../../support/program.ts';
import { until } from '../../support/waiting.ts';

/**
 * What was done to one from outside. `pause` and `away` (it cannot reach the server) are told only
 * where they take so long that the others may take it for dead, or where it still starts.
 */
export type Struck = 'kill' | 'term' | 'pause' | 'away';

/** A start, and how it ended. */
export type Life = {
  readonly program: Program;
  /** How far its time of day is ahead. */
  readonly aheadMs: number;
  readonly struck: Set<Struck>;
  /** It has said that it listens. */
  hasListened: boolean;
  /** When it went on after its last pause, by performance.now(); null: it was not paused. */
  wentOnAt: number | null;
  how: number | string | null;
};

/** A start that must wait, since a lane may be worked by others alone just now. */
type Gate = { readonly open: Promise<void>; readonly release: () => void };

const begun = { hasListened: false, wentOnAt: null, how: null };
/** Who has not been heard of for nine seconds is dead; the last beat may be some time ago. */
const mayBeDeadMs = 5_000;
/** Between an end and the start after it. */
const restartMs = 100;
const logMax = 6_000;

export type InstanceParts = Pick<Instance, 'name' | 'port' | 'adminPort' | 'ways'> & {
  /** Starts svc, whose time of day is ahead of this machine's. */
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
  /** Ends that nothing explains, each with what was logged before it. */
  readonly faults: string[] = [];
  /**
   * Ends of one that was taken for dead, that was without its server for too long, or whose start
   * found the server slow.
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

  /** Starts it, and from then on each time that it has ended. */
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

  /** It listens, and does what it does. */
  get isAtWork(): boolean {
    return this.isUp && !this.isPaused && !this.life.struck.has('term');
  }

  untilUp(): Promise<void> {
    return until(`${this.name} listens`, () => this.isUp || this.faults.length > 0);
  }

  /** From now on what ends is not started again, until the function is called that it gives. */
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

  /** SIGSTOP, and SIGCONT after that. */
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

  /** Every connection to a server is reset. */
  cut(): void {
    if (!this.life.hasListened) this.life.struck.add('away');
    for (const way of this.ways) way.cut();
  }

  /** Nothing that it sends to a server arrives for so long. */
  async silence(ms: number): Promise<void> {
    for (const way of this.ways) way.hold();
    await this.without(pause(ms), ms);
    for (const way of this.ways) way.release();
  }

  /** It has no server until that is over, which takes so long. */
  async without(over: Promise<unknown>, ms: number): Promise<void> {
    const { life } = this;
    if (ms > mayBeDeadMs || !life.hasListened) life.struck.add('away');
    this.#outages++;
    await over;
    this.#outages--;
  }

  /** What it has logged last. */
  log(): string {
    const all = this.lives.slice(-2).map(({ program, aheadMs, struck, how }) => {
      const done = [...struck].join(', ') || 'nothing';
      const about = `clock ${aheadMs} ms ahead, struck by ${done}, ended by ${how}`;
      return `${this.name} (${about}):\n${program.log().slice(-logMax)}`;
    });
    return all.join('\n');
  }

  /** It is not started again. @returns how it ended after a SIGTERM */
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
