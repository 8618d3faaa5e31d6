/**
 * The view of several instances: each publishes its report, reads the others' for people, and hears
 * their live events, so that each can answer for all.
 */
import type { LiveEvent } from '../domain/live-event.ts';
import { later, type Clock, type SteadyTime } from '../lib/clock.ts';
import { viewAlone } from './alone.ts';
import type { Instance, LiveEventBatch, Peers, SharedSnapshot, SharedView } from './backend.ts';
import {
  janitorLease,
  type Member,
  type Reports,
  type RowsOfChannel,
  type ServiceReport,
  type StatusView,
  type ViewSource,
} from './cluster.ts';

type ViewDeps = Clock & ViewSource & { readonly peers: Peers; readonly view: SharedView };

export function openView(
  deps: ViewDeps,
  times: Partial<ReportTimes & LiveEventTimes> = {},
): StatusView & Disposable {
  const { peers, now, events } = deps;
  const opened = new DisposableStack();
  const onUnheard = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    const message =
      'The other instances do not hear how this one is, and show it as late; it goes on trying. ' +
      `The database server: ${why}`;
    events.warned({ code: 'view_unshared', message });
  };
  const reports = opened.use(new ReportExchange({ ...deps, onUnheard }, times));
  opened.use(new LiveEventExchange(deps, times));
  return {
    async read(own, parse) {
      const seen = await reports.seen();
      return reportsOf({ id: peers.id, report: own() }, seen, parse, now());
    },
    [Symbol.dispose]: () => opened.dispose(),
  };
}

type LiveEventTimes = {
  readonly batchMs: number;
  /** How long a lease holds. It is published three times in that time. */
  readonly leaseMs: number;
  /** How long to read batches after the last listener has left. */
  readonly graceMs: number;
};

const liveEventTimes: LiveEventTimes = { batchMs: 250, leaseMs: 12_000, graceMs: 10_000 };

/** How many live events an instance may send in a second. */
export const liveEventsMax = 200;

/** The topic of the lease; its message is the number of the instance with listeners. */
const leaseTopic = 'frames_listened';

type Deps = Clock &
  Pick<ViewSource, 'liveEvents' | 'liveEventOf'> &
  Pick<ViewDeps, 'peers' | 'view'>;

/**
 * Carries live events between the instances while a client listens at any of them.
 *
 * An instance with listeners publishes a lease of some seconds, again and again. During another's
 * lease, this instance sends its live events in batches, four a second, and counts the ones beyond
 * the limit. An instance with listeners reads the others' batches at the same pace. It continues
 * for some seconds after the last listener has left, since listeners return.
 *
 * silent → listening (publishes the lease, reads batches) → silent. Events before an instance knows
 * of the lease are lost. That is reported as `dropped`.
 */
export class LiveEventExchange implements Disposable {
  readonly #sender: LiveEventSender;
  readonly #receiver: LiveEventReceiver;
  readonly #unsubscribe: () => void;

  constructor(deps: Deps, times: Partial<LiveEventTimes> = {}) {
    const all = { ...liveEventTimes, ...times };
    const sender = new LiveEventSender(deps, all);
    this.#sender = sender;
    this.#receiver = new LiveEventReceiver(deps, all);
    const { id } = deps.peers;
    deps.liveEvents.name(() => (deps.peers.limitShare() > 1 ? id : null));
    this.#unsubscribe = deps.peers.onBroadcast(leaseTopic, (who) => {
      if (who !== String(id)) sender.lease();
    });
  }

  /** Disposing ends what is under way. */
  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#sender.end();
    this.#receiver.end();
  }
}

/** Sends the live events of this instance while another listens. */
class LiveEventSender {
  readonly #deps: Deps;
  readonly #times: LiveEventTimes;
  #until: SteadyTime | null = null;
  #liveEvents: LiveEvent[] = [];
  #leftOut = 0;
  /** How many live events may be sent now. */
  #allowed = liveEventsMax;
  #n = 0;
  #timer: NodeJS.Timeout | null = null;
  #endOwn: (() => void) | null = null;
  #isSending = false;

  constructor(deps: Deps, times: LiveEventTimes) {
    this.#deps = deps;
    this.#times = times;
  }

  lease(): void {
    const { steady, liveEvents } = this.#deps;
    this.#until = later(steady(), this.#times.leaseMs);
    this.#endOwn ??= liveEvents.onOwn((liveEvent) => this.#take(liveEvent));
    this.#timer ??= setInterval(() => this.#tick(), this.#times.batchMs).unref();
  }

  end(): void {
    this.#until = null;
    this.#endOwn?.();
    this.#endOwn = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#liveEvents = [];
    this.#leftOut = 0;
  }

  #take(liveEvent: LiveEvent): void {
    if (this.#liveEvents.length < this.#allowed) this.#liveEvents.push(liveEvent);
    else this.#leftOut++;
  }

  #tick(): void {
    if (this.#until === null || this.#deps.steady() > this.#until) return this.end();
    if (this.#isSending) return;
    const most = (liveEventsMax * this.#times.batchMs) / 1_000;
    const liveEvents = this.#liveEvents;
    const leftOut = this.#leftOut;
    this.#allowed = Math.min(liveEventsMax, this.#allowed - liveEvents.length + most);
    if (liveEvents.length + leftOut === 0) return;
    this.#liveEvents = [];
    this.#leftOut = 0;
    void this.#send(liveEvents, leftOut);
  }

  /** A batch that could not be sent leaves a gap in the numbers. */
  async #send(liveEvents: readonly LiveEvent[], leftOut: number): Promise<void> {
    const { peers, view } = this.#deps;
    const liveEventBatch = {
      instance: peers.id,
      n: ++this.#n,
      leftOut,
      frames: JSON.stringify(liveEvents),
    };
    this.#isSending = true;
    await view.publishEvents(liveEventBatch).catch(() => {});
    this.#isSending = false;
  }
}

/** Receives the live events of the others while a client listens here. */
class LiveEventReceiver {
  readonly #deps: Deps;
  readonly #times: LiveEventTimes;
  readonly #unsubscribes: readonly (() => void)[];
  #lease: NodeJS.Timeout | null = null;
  #pace: NodeJS.Timeout | null = null;
  #grace: NodeJS.Timeout | null = null;
  #isReading = false;
  /** The last batch received from each instance; null: the start is not known yet. */
  #lastBatches: Map<number, number> | null = null;
  /** The instances that know of the lease. */
  #informed: ReadonlySet<number> = new Set();
  /**
   * Instances have learnt of the lease, and the loss of their earlier events is not reported yet.
   */
  #isLossUnreported = false;

  constructor(deps: Deps, times: LiveEventTimes) {
    this.#deps = deps;
    this.#times = times;
    const { liveEvents, peers } = deps;
    const update = (): void => (liveEvents.isListened ? this.#begin() : this.#leave());
    this.#unsubscribes = [
      liveEvents.onListened(update),
      peers.onChange(() => this.#othersChanged()),
    ];
    if (liveEvents.isListened) this.#begin();
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    this.#stop();
  }

  get #others(): readonly number[] {
    const { peers } = this.#deps;
    return peers.instances().flatMap(({ id }) => (id === peers.id ? [] : [id]));
  }

  #begin(): void {
    if (this.#grace !== null) clearTimeout(this.#grace);
    this.#grace = null;
    if (this.#lease !== null) return;
    this.#lease = setInterval(() => void this.#publishLease(), this.#times.leaseMs / 3).unref();
    this.#pace = setInterval(() => this.#tick(), this.#times.batchMs).unref();
    void this.#publishLease();
  }

  #leave(): void {
    this.#grace ??= setTimeout(() => this.#stop(), this.#times.graceMs).unref();
  }

  #stop(): void {
    for (const timer of [this.#lease, this.#pace, this.#grace]) {
      if (timer !== null) clearTimeout(timer);
    }
    this.#lease = this.#pace = this.#grace = null;
    this.#lastBatches = null;
    this.#informed = new Set();
    this.#isLossUnreported = false;
  }

  async #publishLease(): Promise<void> {
    const others = this.#others;
    if (others.length === 0) return;
    const { peers } = this.#deps;
    await peers.broadcast(leaseTopic, String(peers.id));
    if (this.#lease === null) return;
    if (others.some((id) => !this.#informed.has(id))) this.#isLossUnreported = true;
    this.#informed = new Set(others);
  }

  #othersChanged(): void {
    if (this.#lease !== null && this.#others.some((id) => !this.#informed.has(id))) {
      void this.#publishLease();
    }
  }

  /** @param instance that the lost events belong to; null: any */
  #reportLost(count: number | null, instance: number | null): void {
    const { liveEvents, now } = this.#deps;
    liveEvents.hear({ kind: 'dropped', at: now(), count, instance });
  }

  #tick(): void {
    if (this.#isReading || this.#others.length === 0) return;
    this.#isReading = true;
    void this.#readBatches()
      .catch(() => {})
      .finally(() => (this.#isReading = false));
  }

  async #readBatches(): Promise<void> {
    const { view } = this.#deps;
    const lastBatches = this.#lastBatches ?? new Map(await view.newest());
    if (this.#lease === null) return;
    this.#lastBatches = lastBatches;
    if (this.#isLossUnreported) this.#reportLost(null, null);
    this.#isLossUnreported = false;
    for (const liveEventBatch of await view.readBatches(
      new Map(this.#others.map((id) => [id, lastBatches.get(id) ?? 0])),
    )) {
      if (this.#lastBatches !== lastBatches) return;
      const known = lastBatches.get(liveEventBatch.instance);
      if (known !== undefined && liveEventBatch.n > known + 1)
        this.#reportLost(null, liveEventBatch.instance);
      lastBatches.set(liveEventBatch.instance, liveEventBatch.n);
      this.#take(liveEventBatch);
    }
  }

  #take({ instance, frames: json, leftOut }: LiveEventBatch): void {
    const { liveEvents, liveEventOf } = this.#deps;
    for (const one of JSON.parse(json) as readonly unknown[]) {
      const liveEvent = liveEventOf(one);
      if (liveEvent !== null) liveEvents.hear({ ...liveEvent, instance });
    }
    if (leftOut > 0) this.#reportLost(leftOut, instance);
  }
}

export type ReportTimes = {
  /** How often this instance publishes a changed report. */
  readonly publishMs: number;
  /** How often it publishes an unchanged report. */
  readonly againMs: number;
  readonly sweepMs: number;
  /** How long a caller waits for the server at most. */
  readonly waitMs: number;
  /** How long a result of reading serves further callers. */
  readonly freshMs: number;
};

const reportTimes: ReportTimes = {
  publishMs: 1_000,
  againMs: 3_000,
  sweepMs: 10_000,
  waitMs: 500,
  freshMs: 500,
};

type ReportDeps = Pick<ViewDeps, 'peers' | 'view' | 'report' | 'steady'> & {
  /**
   * Called when the others do not receive this instance's reports. It is called again only after a
   * success.
   */
  readonly onUnheard: (error: unknown) => void;
};

/** The last reports, each as old as it is. */
export type LastReports = {
  /** All living instances in the order of their starts. */
  readonly living: readonly (Instance & {
    /** null: there is none yet. */
    readonly lastReport: { readonly ageMs: number; readonly report: string } | null;
  })[];
  /** All unsettled rows, whichever instance has them; null: they could not be counted. */
  readonly rows: readonly RowsOfChannel[] | null;
  /** The age of `rows` in milliseconds. */
  readonly rowsAgeMs: number;
};

/** After this many failures in a row, `onUnheard` is called. */
const failuresMax = 3;

const nothing: SharedSnapshot & { readonly at: SteadyTime | null } = {
  reports: [],
  rows: [],
  at: null,
};

/**
 * Publishes the report of this instance, and reads the others' reports when a person asks. It never
 * blocks anybody: if it cannot publish or read in time, it tries again later. Until then the last
 * known reports stay, with their age.
 */
export class ReportExchange implements Disposable {
  readonly #deps: ReportDeps;
  readonly #times: ReportTimes;
  readonly #timer: NodeJS.Timeout;
  #published: { readonly report: string; readonly at: SteadyTime } | null = null;
  #isPublishing = false;
  #failures = 0;
  /** false: there may be reports of instances that have ended. */
  #isSwept = true;
  #sweptAt: SteadyTime | null = null;
  #last = nothing;
  #freshUntil = -Infinity;
  #reading: { readonly since: SteadyTime; readonly over: Promise<void> } | null = null;

  constructor(deps: ReportDeps, times: Partial<ReportTimes> = {}) {
    this.#deps = deps;
    this.#times = { ...reportTimes, ...times };
    this.#timer = setInterval(() => void this.#tick(), this.#times.publishMs).unref();
  }

  /** Never rejects. */
  async seen(): Promise<LastReports> {
    const { peers, steady } = this.#deps;
    if (peers.instances().length === 0) return { living: [], rows: null, rowsAgeMs: 0 };
    await this.#refresh();
    const { reports, rows, at } = this.#last;
    const sinceMs = at === null ? 0 : steady() - at;
    const byInstance = new Map(reports.map((one) => [one.instance, one]));
    const living = peers.instances().map(({ id, version, beganAt, posts }) => {
      const one = byInstance.get(id);
      const known = one && { ageMs: one.ageMs + sinceMs, report: one.report };
      return { id, version, beganAt, posts, lastReport: known ?? null };
    });
    return { living, rows: at === null ? null : rows, rowsAgeMs: sinceMs };
  }

  /** Disposing ends what is under way. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #tick(): Promise<void> {
    const others = this.#deps.peers.instances().length > 1;
    if (this.#isPublishing || (!others && this.#isSwept)) return;
    this.#isPublishing = true;
    try {
      if (others) await this.#publish();
      await this.#sweep(others);
      this.#failures = 0;
    } catch (error) {
      if (++this.#failures === failuresMax) this.#deps.onUnheard(error);
    } finally {
      this.#isPublishing = false;
    }
  }

  async #publish(): Promise<void> {
    const { peers, view, report: reportNow, steady } = this.#deps;
    const report = reportNow();
    const at = steady();
    const isKnown =
      this.#published?.report === report && at - this.#published.at < this.#times.againMs;
    if (isKnown) return;
    await view.publish(peers.id, report);
    this.#published = { report, at };
  }

  /** The janitor deletes the reports of ended instances, once more after all others have ended. */
  async #sweep(others: boolean): Promise<void> {
    const { peers, view, steady } = this.#deps;
    const isDue = this.#sweptAt === null || steady() - this.#sweptAt >= this.#times.sweepMs;
    if (others) this.#isSwept = false;
    if (!peers.holds(janitorLease) || (others && !isDue)) return;
    await view.sweep();
    this.#sweptAt = steady();
    this.#isSwept = !others;
  }

  /**
   * Resolves after the read or after a while. A caller that comes later does not wait for that
   * read.
   */
  async #refresh(): Promise<void> {
    const { steady } = this.#deps;
    if (this.#reading === null) {
      if (steady() < this.#freshUntil) return;
      const over = this.#read(steady()).finally(() => (this.#reading = null));
      this.#reading = { since: steady(), over };
    }
    const { since, over } = this.#reading;
    const leftMs = since + this.#times.waitMs - steady();
    if (leftMs <= 0) return;
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leftMs);
    await Promise.race([over, waited]);
    clearTimeout(timer);
  }

  /** A slow server is asked less often. */
  async #read(since: SteadyTime): Promise<void> {
    const { view, steady } = this.#deps;
    try {
      const result = await view.readReports();
      this.#last = { ...result, at: steady() };
    } catch {
      // The last result stays, with its age.
    }
    const took = steady() - since;
    this.#freshUntil = steady() + Math.max(this.#times.freshMs, 10 * took);
  }
}

/** How many milliseconds without a report make an instance late. */
const lateMs = 5_000;

/**
 * All reports for one answer, with the current one of this instance in place of its last.
 * @param now milliseconds since 1970
 */
export async function reportsOf<R extends ServiceReport>(
  own: { readonly id: number; readonly report: R },
  { living, rows, rowsAgeMs }: LastReports,
  parse: (json: string) => R | null,
  now: number,
): Promise<Reports<R>> {
  if (living.length === 0) return viewAlone.read(() => own.report, parse);
  const members = living.map(({ lastReport, ...instance }): Member<R> => {
    if (instance.id !== own.id) return { ...instance, ...lastOf(instance, lastReport, parse, now) };
    return { ...instance, report: own.report, toldAt: now, state: stateOf(own.report) };
  });
  const reports = members.flatMap(({ id, report }) => (report === null ? [] : [{ id, report }]));
  const up = new Set<number | null>(
    members.filter(({ state }) => state === 'up' || state === 'failing').map(({ id }) => id),
  );
  const deciding = reports.filter(({ id }) => up.has(id));
  const toldTimes = members.flatMap(({ toldAt }) => toldAt ?? []);
  const asOf = Math.min(now, ...toldTimes, ...(rows === null ? [] : [now - rowsAgeMs]));
  return {
    own,
    members,
    reports: reports.some(({ id }) => id === own.id) ? reports : [...reports, own],
    deciding: deciding.length === 0 ? [own] : deciding,
    rows,
    asOf: Math.round(asOf),
  };
}

function lastOf<R extends ServiceReport>(
  { beganAt }: Instance,
  lastReport: LastReports['living'][number]['lastReport'],
  parse: (json: string) => R | null,
  now: number,
): Pick<Member<R>, 'report' | 'toldAt' | 'state'> {
  if (lastReport === null) {
    const state = now - beganAt > lateMs ? 'late' : 'starting';
    return { report: null, toldAt: null, state };
  }
  const report = parse(lastReport.report);
  const toldAt = Math.round(now - lastReport.ageMs);
  const state = lastReport.ageMs > lateMs ? 'late' : report === null ? 'up' : stateOf(report);
  return { report, toldAt, state };
}

function stateOf({ health: { status } }: ServiceReport): Member<unknown>['state'] {
  return status === 'ok' ? 'up' : status;
}
