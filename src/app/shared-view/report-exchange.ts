/**
 * Tells the other instances how this one is, and reads what they told when a person asks. It is in
 * nobody's way: what cannot be told or read in time is told and read again later, and until then
 * the last that is known stands, as old as it is.
 */
import type { Seen } from '../../admin/instances/instances.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { Looked, SharedView } from '../../cluster/shared-view.ts';

export type ReportTimes = {
  /** How often this instance tells of itself, where that has changed. */
  readonly tellMs: number;
  /** How often it does in any case. */
  readonly againMs: number;
  readonly sweepMs: number;
  /** How long who asks waits for the server at most. */
  readonly waitMs: number;
  /** For so long what was read is told again. */
  readonly freshMs: number;
};

export const reportTimes: ReportTimes = {
  tellMs: 1_000,
  againMs: 3_000,
  sweepMs: 10_000,
  waitMs: 500,
  freshMs: 500,
};

export type ReportDeps = {
  readonly peers: Peers;
  readonly view: SharedView;
  /** Of this instance, as JSON. */
  readonly report: () => string;
  readonly steady: () => SteadyTime;
  /** The others hear nothing of this one, for some time; called once until they do again. */
  readonly unheard: (error: unknown) => void;
};

/** Of so many failures in a row a person is told. */
const failuresMax = 3;

const nothing: Looked & { readonly at: SteadyTime | null } = { reports: [], rows: [], at: null };

export class ReportExchange implements Disposable {
  readonly #deps: ReportDeps;
  readonly #times: ReportTimes;
  readonly #timer: NodeJS.Timeout;
  #told: { readonly report: string; readonly at: SteadyTime } | null = null;
  #isTelling = false;
  #failures = 0;
  /** There may be something of instances that are no more. */
  #isSwept = true;
  #sweptAt: SteadyTime | null = null;
  #last: Looked & { readonly at: SteadyTime | null } = nothing;
  #freshUntil = -Infinity;
  #looking: { readonly since: SteadyTime; readonly over: Promise<void> } | null = null;

  constructor(deps: ReportDeps, times: Partial<ReportTimes> = {}) {
    this.#deps = deps;
    this.#times = { ...reportTimes, ...times };
    this.#timer = setInterval(() => void this.#tick(), this.#times.tellMs).unref();
  }

  /** Never rejects. */
  async seen(): Promise<Seen> {
    const { peers, steady } = this.#deps;
    if (peers.instances().length === 0) return { living: [], rows: null, rowsAgeMs: 0 };
    await this.#look();
    const { reports, rows, at } = this.#last;
    const sinceMs = at === null ? 0 : steady() - at;
    const told = new Map(reports.map((one) => [one.instance, one]));
    const living = peers.instances().map(({ id, version, beganAt, posts }) => {
      const one = told.get(id);
      const known = one && { ageMs: one.ageMs + sinceMs, report: one.report };
      return { id, version, beganAt, posts, told: known ?? null };
    });
    return { living, rows: at === null ? null : rows, rowsAgeMs: sinceMs };
  }

  /** What is under way then ends with the view. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #tick(): Promise<void> {
    const others = this.#deps.peers.instances().length > 1;
    if (this.#isTelling || (!others && this.#isSwept)) return;
    this.#isTelling = true;
    try {
      if (others) await this.#tell();
      await this.#sweep(others);
      this.#failures = 0;
    } catch (error) {
      if (++this.#failures === failuresMax) this.#deps.unheard(error);
    } finally {
      this.#isTelling = false;
    }
  }

  async #tell(): Promise<void> {
    const { peers, view, report: reportNow, steady } = this.#deps;
    const report = reportNow();
    const at = steady();
    const isKnown = this.#told?.report === report && at - this.#told.at < this.#times.againMs;
    if (isKnown) return;
    await view.publish(peers.id, report);
    this.#told = { report, at };
  }

  /** The keeper deletes what those left that are dead, once more when all others are. */
  async #sweep(others: boolean): Promise<void> {
    const { peers, view, steady } = this.#deps;
    const isDue = this.#sweptAt === null || steady() - this.#sweptAt >= this.#times.sweepMs;
    if (others) this.#isSwept = false;
    if (!peers.holds('keeper') || (others && !isDue)) return;
    await view.sweep();
    this.#sweptAt = steady();
    this.#isSwept = !others;
  }

  /** Resolves when it has looked, or after a while: who asks later does not wait for that look. */
  async #look(): Promise<void> {
    const { steady } = this.#deps;
    if (this.#looking === null) {
      if (steady() < this.#freshUntil) return;
      const over = this.#read(steady()).finally(() => (this.#looking = null));
      this.#looking = { since: steady(), over };
    }
    const { since, over } = this.#looking;
    const leftMs = since + this.#times.waitMs - steady();
    if (leftMs <= 0) return;
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leftMs);
    await Promise.race([over, waited]);
    clearTimeout(timer);
  }

  /** A server that takes long to answer is asked less often. */
  async #read(since: SteadyTime): Promise<void> {
    const { view, steady } = this.#deps;
    try {
      const looked = await view.look();
      this.#last = { ...looked, at: steady() };
    } catch {
      // What was read before stands; its age tells.
    }
    const took = steady() - since;
    this.#freshUntil = steady() + Math.max(this.#times.freshMs, 10 * took);
  }
}
