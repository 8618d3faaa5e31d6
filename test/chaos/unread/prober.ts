/**
 * Asks both listeners of svc and the control for /healthz at the same moments, and does nothing
 * else. A slow probe counts against svc only as far as the machine does not explain it. So the
 * prober subtracts
 * - the time for which threads of svc were ready and got no processor,
 * - the time for which the host of this machine gave its processors to other machines, and
 * - the time by which the prober's own timers were late.
 * It judges no probe whose control was slow at that moment. Only Linux reports the first two, so on
 * other systems the prober judges nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { percentile } from '../outside.ts';
import { serveOrders } from './helper.ts';
import { patienceMs } from '../../support/waiting.ts';

export type Target = {
  readonly ports: readonly number[];
  readonly control: number;
  /** Of svc. */
  readonly pid: number;
};
export type Probed = {
  readonly probes: number;
  /** The probes that the machine lets us judge. */
  readonly judged: number;
  readonly slowestMs: number;
  /** Of the judged probes: the longest time that the machine does not explain. */
  readonly unexplainedMs: number;
  readonly controlSlowestMs: number;
  readonly controlMedianMs: number;
  readonly medianMs: number;
};
export type ProberOrders = {
  /** Probes so often. */
  readonly probe: (order: Target & { readonly rounds: number }) => Promise<Probed>;
  /** Probes until `stop`, which fails when a probe got no answer. */
  readonly start: (target: Target) => void;
  readonly stop: () => Promise<Probed>;
};

/** A slower control shows that the machine was busy elsewhere. */
const controlMsMax = 100;
const betweenMs = 10;
const tickMs = 5;

let stopped = true;
let probing: Promise<Probed> | null = null;

const orders: ProberOrders = {
  probe: ({ rounds, ...target }) => probe(target, (round) => round >= rounds),
  start(target) {
    stopped = false;
    probing = probe(target, () => stopped);
    // `stop` reports a failure.
    probing.catch(() => {});
  },
  async stop() {
    stopped = true;
    if (probing === null) throw new Error('the prober was not started');
    return probing;
  },
};

async function probe(target: Target, isOver: (round: number) => boolean): Promise<Probed> {
  const { ports, control, pid } = target;
  const [took, controlTook]: [number[], number[]] = [[], []];
  let [judged, unexplainedMs] = [0, 0];
  const timers = new Timers();
  for (let round = 0; round === 0 || !isOver(round); round++) {
    const heldBefore = heldBackMs(pid);
    const lateBefore = timers.lateMs;
    const ask = async (port: number): Promise<{ tookMs: number; machineMs: number | null }> => {
      const tookMs = await askHealth(port);
      const held = heldBackMs(pid);
      const known = held !== null && heldBefore !== null;
      const lateMs = timers.lateMs - lateBefore;
      // The sum has lost the wait of a thread that ended.
      const heldMs = known ? Math.max(0, held - heldBefore) : null;
      return { tookMs, machineMs: heldMs === null ? null : heldMs + lateMs };
    };
    const [controlMs, ...answers] = await Promise.all([askHealth(control), ...ports.map(ask)]);
    controlTook.push(controlMs);
    for (const { tookMs, machineMs } of answers) {
      took.push(tookMs);
      if (machineMs === null || controlMs > controlMsMax) continue;
      judged++;
      unexplainedMs = Math.max(unexplainedMs, tookMs - machineMs);
    }
    await new Promise((resolve) => setTimeout(resolve, betweenMs));
  }
  timers.stop();
  return {
    probes: took.length,
    judged,
    slowestMs: percentile(took, 1),
    unexplainedMs,
    controlSlowestMs: percentile(controlTook, 1),
    controlMedianMs: percentile(controlTook, 0.5),
    medianMs: percentile(took, 0.5),
  };
}

/** @returns how long it took until the answer began */
function askHealth(port: number): Promise<number> {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(port, '127.0.0.1');
  const late = setTimeout(() => {
    socket.destroy(new Error(`no answer within ${patienceMs} ms`));
  }, patienceMs);
  let why = 'the connection closed without an answer';
  socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');
  socket.setEncoding('latin1').once('data', (text: string) => {
    if (text.startsWith('HTTP/1.1 200 ')) resolve(performance.now() - startedAt);
    else why = `the answer was ${text.slice(0, 100)}`;
    socket.resume();
  });
  socket.on('error', (error) => (why = error.message));
  socket.once('close', () => {
    clearTimeout(late);
    reject(new Error(`a probe of port ${port}: ${why}`));
  });
  return promise;
}

/**
 * The time for which threads of a process were ready without a processor, or the host took the
 * processors away; in all since their start. null: this system does not report it.
 */
function heldBackMs(pid: number): number | null {
  const folder = `/proc/${pid}/task`;
  try {
    const waits = readdirSync(folder).map((thread) => waitedMs(`${folder}/${thread}/schedstat`));
    const stolen = Number(readFileSync('/proc/stat', 'latin1').split(/\s+/, 9)[8]);
    return waits.reduce((sum, waited) => sum + waited, stolen * 10);
  } catch {
    return null;
  }
}

/** 0: the thread has ended just now. Format: the kernel's Documentation/scheduler/sched-stats. */
function waitedMs(file: string): number {
  try {
    return Number(readFileSync(file, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** The delay of this process's timers, in all. */
class Timers {
  #lateMs = 0;
  #dueAt = 0;
  #timer!: NodeJS.Timeout;

  constructor() {
    this.#next();
  }

  /** Includes the timer that is due now: an answer may be read before it. */
  get lateMs(): number {
    // A timer of Node's may be a millisecond late by itself.
    return this.#lateMs + Math.max(0, performance.now() - this.#dueAt - 1);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #next(): void {
    this.#dueAt = performance.now() + tickMs;
    this.#timer = setTimeout(() => {
      this.#lateMs = this.lateMs;
      this.#next();
    }, tickMs);
  }
}

serveOrders(orders);
