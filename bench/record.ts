/** Records the times of every message of a round, and computes the figures of the round. */
import { median, percentile } from './stats.ts';

export type Measured = {
  readonly replies: number;
  readonly perSecond: number;
  /** From sending the message to its reply. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** From the 200 to the model's request. */
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  /** The CPU of the server's process, with all threads, for each reply. */
  readonly cpuUs: number;
  /** 503s; other answers and broken connections; 200s without a reply; surplus replies. */
  readonly refused: number;
  readonly failed: number;
  readonly lost: number;
  readonly repeated: number;
};

export class Record {
  readonly #sentUs: number[] = [];
  readonly #acceptedUs: number[] = [];
  readonly #askedUs: number[] = [];
  readonly #repliedUs: number[] = [];
  accepted = 0;
  replied = 0;
  refused = 0;
  failed = 0;
  repeated = 0;

  sent(at: number, us: number): void {
    this.#sentUs[at] = us;
  }

  answered(at: number, status: number, us: number): void {
    if (status === 200) {
      this.accepted++;
      this.#acceptedUs[at] = us;
    } else if (status === 503) this.refused++;
    else this.failed++;
  }

  /** @returns whether it is the first reply to that message */
  gotReply(at: number, askedUs: number, us: number): boolean {
    if (this.#repliedUs[at] !== undefined) {
      this.repeated++;
      return false;
    }
    this.#repliedUs[at] = us;
    this.#askedUs[at] = askedUs;
    this.replied++;
    return true;
  }

  /** Replies after `endUs` add to the times but not to the throughput. */
  measured(startUs: number, endUs: number, cpuSeconds: number): Measured {
    const wholeMs: number[] = [];
    const addedMs: number[] = [];
    let replies = 0;
    for (const [at, repliedUs] of this.#repliedUs.entries()) {
      if (repliedUs === undefined) continue;
      if (repliedUs <= endUs) replies++;
      wholeMs.push((repliedUs - this.#sentUs[at]!) / 1e3);
      // The model's request may come before this process reads the 200: then svc added nothing.
      addedMs.push(Math.max(0, this.#askedUs[at]! - (this.#acceptedUs[at] ?? repliedUs)) / 1e3);
    }
    return {
      replies,
      perSecond: (replies * 1e6) / (endUs - startUs),
      p50Ms: percentile(wholeMs, 50),
      p95Ms: percentile(wholeMs, 95),
      p99Ms: percentile(wholeMs, 99),
      addedP50Ms: percentile(addedMs, 50),
      addedP99Ms: percentile(addedMs, 99),
      cpuUs: (cpuSeconds * 1e6) / Math.max(1, replies),
      refused: this.refused,
      failed: this.failed,
      lost: this.accepted - this.replied,
      repeated: this.repeated,
    };
  }
}

const names = [
  'replies',
  'perSecond',
  'p50Ms',
  'p95Ms',
  'p99Ms',
  'addedP50Ms',
  'addedP99Ms',
  'cpuUs',
  'refused',
  'failed',
  'lost',
  'repeated',
] as const satisfies readonly (keyof Measured)[];

/** Computes each figure with the same function. */
function figures(of: (name: keyof Measured) => number): Measured {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Measured;
}

export function medianOf(rounds: readonly Measured[]): Measured {
  return figures((name) => median(rounds.map((round) => round[name])));
}

export function ratioOf(one: Measured, other: Measured): Measured {
  return figures((name) => one[name] / other[name]);
}
