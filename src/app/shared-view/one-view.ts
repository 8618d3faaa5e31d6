/** Makes one view of all instances on a ledger: what an admin server answers for all of them by. */
import { hostname } from 'node:os';
import type { InstancesPort, Place, Seen } from '../../admin/instances/instances.ts';
import { describeReport, type Report } from '../../admin/instances/report.ts';
import type { EventHub } from '../../telemetry/events.ts';
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { SharedView, LiveEventBatch, Looked } from '../../cluster/shared-view.ts';
import { liveEventSchema } from '../../admin/schemas/live-event.ts';
import { Misshapen, read } from '../../admin/schemas/schema.ts';
import type { LiveEvent } from '../../domain/live-event.ts';
import type { SharedLiveEvents } from '../../telemetry/live-events.ts';

export type OneViewDeps = Clock & {
  readonly peers: Peers;
  readonly view: SharedView;
  readonly events: Pick<EventHub, 'frames' | 'warned'>;
  /** Of this instance, as of now. */
  readonly report: (place: Place) => Report;
  /** Where the admin server is found; null: there is none, or not yet. */
  readonly admin: () => string | null;
};

export type OneView = InstancesPort & Disposable;

export function openOneView(
  deps: OneViewDeps,
  times: Partial<ReportTimes & LiveEventTimes> = {},
): OneView {
  const { peers, view, events, report, now, steady, admin } = deps;
  const opened = new DisposableStack();
  const place = (): Place => ({ host: hostname(), admin: admin() });
  const reportNow = (): string => describeReport(report(place()));
  const unheard = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    const message =
      'The other instances do not hear how this one is, and show it as late; it goes on trying. ' +
      `The database server: ${why}`;
    events.warned({ code: 'view_unshared', message });
  };
  const told = { peers, view, steady, unheard, report: reportNow };
  const reports = opened.use(new ReportExchange(told, times));
  opened.use(new LiveEventExchange({ peers, view, frames: events.frames, now, steady }, times));
  return {
    own: peers.id,
    place,
    seen: () => reports.seen(),
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/**
 * Carries live frames between the instances, while somebody listens at any of them.
 *
 * Who has listeners says so to all, again and again, as a lease of some seconds. While there is a
 * lease of another, this instance tells its frames in lots, four a second, and counts those that
 * are too many. Who has listeners hears the lots of the others in the same pace, for some seconds
 * longer than there are listeners, since those come back.
 *
 * silent → listening (the lease is told, lots are heard) → silent. Each time that instances come to
 * know of the lease, nobody knows what they did before: that is told as `dropped`.
 */
type LiveEventTimes = {
  readonly lotMs: number;
  /** How long a lease holds; it is told three times in that time. */
  readonly leaseMs: number;
  /** For so long lots are heard after the last listener has left. */
  readonly graceMs: number;
};

const liveEventTimes: LiveEventTimes = { lotMs: 250, leaseMs: 12_000, graceMs: 10_000 };

/** So many frames an instance may tell in a second. */
export const liveEventsMax = 200;

/** What is told: the number of who listens. */
const listening = 'frames_listened';

type Deps = Clock & {
  readonly peers: Peers;
  readonly view: SharedView;
  readonly frames: SharedLiveEvents;
};

export class LiveEventExchange implements Disposable {
  readonly #sender: LiveEventSender;
  readonly #hearer: LiveEventHearer;
  readonly #unsubscribe: () => void;

  constructor(deps: Deps, times: Partial<LiveEventTimes> = {}) {
    const all = { ...liveEventTimes, ...times };
    const sender = new LiveEventSender(deps, all);
    this.#sender = sender;
    this.#hearer = new LiveEventHearer(deps, all);
    const { id } = deps.peers;
    deps.frames.name(() => (deps.peers.share() > 1 ? id : null));
    this.#unsubscribe = deps.peers.on(listening, (who) => {
      if (who !== String(id)) sender.lease();
    });
  }

  /** What is under way then ends with the view. */
  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#sender.end();
    this.#hearer.end();
  }
}

/** Tells the frames of this instance, while another listens. */
class LiveEventSender {
  readonly #deps: Deps;
  readonly #times: LiveEventTimes;
  #until: SteadyTime | null = null;
  #liveEvents: LiveEvent[] = [];
  #leftOut = 0;
  /** Frames that may be told now. */
  #allowed = liveEventsMax;
  #n = 0;
  #timer: NodeJS.Timeout | null = null;
  #endOwn: (() => void) | null = null;
  #isTelling = false;

  constructor(deps: Deps, times: LiveEventTimes) {
    this.#deps = deps;
    this.#times = times;
  }

  lease(): void {
    const { steady, frames: liveEvents } = this.#deps;
    this.#until = later(steady(), this.#times.leaseMs);
    this.#endOwn ??= liveEvents.onOwn((liveEvent) => this.#take(liveEvent));
    this.#timer ??= setInterval(() => this.#tick(), this.#times.lotMs).unref();
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
    if (this.#isTelling) return;
    const most = (liveEventsMax * this.#times.lotMs) / 1_000;
    const [liveEvents, leftOut] = [this.#liveEvents, this.#leftOut];
    this.#allowed = Math.min(liveEventsMax, this.#allowed - liveEvents.length + most);
    if (liveEvents.length + leftOut === 0) return;
    this.#liveEvents = [];
    this.#leftOut = 0;
    void this.#tell(liveEvents, leftOut);
  }

  /** A lot that was not told is missed by its number. */
  async #tell(liveEvents: readonly LiveEvent[], leftOut: number): Promise<void> {
    const { peers, view } = this.#deps;
    const liveEventBatch = {
      instance: peers.id,
      n: ++this.#n,
      leftOut,
      frames: JSON.stringify(liveEvents),
    };
    this.#isTelling = true;
    await view.tell(liveEventBatch).catch(() => {});
    this.#isTelling = false;
  }
}

/** Hears the frames of the others, while somebody listens here. */
class LiveEventHearer {
  readonly #deps: Deps;
  readonly #times: LiveEventTimes;
  readonly #unsubscribes: readonly (() => void)[];
  #lease: NodeJS.Timeout | null = null;
  #pace: NodeJS.Timeout | null = null;
  #grace: NodeJS.Timeout | null = null;
  #isHearing = false;
  /** The last lot that was heard of each instance; null: where to begin is not known yet. */
  #heard: Map<number, number> | null = null;
  /** Those that know of the lease. */
  #knowing: ReadonlySet<number> = new Set();
  /** Some came to know of it, and it is to be told that nobody knows what they did before. */
  #isUntold = false;

  constructor(deps: Deps, times: LiveEventTimes) {
    this.#deps = deps;
    this.#times = times;
    const { frames: liveEvents, peers } = deps;
    const look = (): void => (liveEvents.isListened ? this.#begin() : this.#leave());
    this.#unsubscribes = [liveEvents.onListened(look), peers.onChange(() => this.#othersChanged())];
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
    this.#lease = setInterval(() => void this.#tellLease(), this.#times.leaseMs / 3).unref();
    this.#pace = setInterval(() => this.#tick(), this.#times.lotMs).unref();
    void this.#tellLease();
  }

  #leave(): void {
    this.#grace ??= setTimeout(() => this.#stop(), this.#times.graceMs).unref();
  }

  #stop(): void {
    for (const timer of [this.#lease, this.#pace, this.#grace]) {
      if (timer !== null) clearTimeout(timer);
    }
    this.#lease = this.#pace = this.#grace = null;
    this.#heard = null;
    this.#knowing = new Set();
    this.#isUntold = false;
  }

  async #tellLease(): Promise<void> {
    const others = this.#others;
    if (others.length === 0) return;
    const { peers } = this.#deps;
    await peers.tell(listening, String(peers.id));
    if (this.#lease === null) return;
    if (others.some((id) => !this.#knowing.has(id))) this.#isUntold = true;
    this.#knowing = new Set(others);
  }

  #othersChanged(): void {
    if (this.#lease !== null && this.#others.some((id) => !this.#knowing.has(id))) {
      void this.#tellLease();
    }
  }

  /** @param instance whose they are; null: of any */
  #missed(count: number | null, instance: number | null): void {
    const { frames: liveEvents, now } = this.#deps;
    liveEvents.hear({ kind: 'dropped', at: now(), count, instance });
  }

  #tick(): void {
    if (this.#isHearing || this.#others.length === 0) return;
    this.#isHearing = true;
    void this.#hear()
      .catch(() => {})
      .finally(() => (this.#isHearing = false));
  }

  async #hear(): Promise<void> {
    const { view } = this.#deps;
    const heard = this.#heard ?? new Map(await view.newest());
    if (this.#lease === null) return;
    this.#heard = heard;
    if (this.#isUntold) this.#missed(null, null);
    this.#isUntold = false;
    for (const liveEventBatch of await view.hear(
      new Map(this.#others.map((id) => [id, heard.get(id) ?? 0])),
    )) {
      if (this.#heard !== heard) return;
      const known = heard.get(liveEventBatch.instance);
      if (known !== undefined && liveEventBatch.n > known + 1)
        this.#missed(null, liveEventBatch.instance);
      heard.set(liveEventBatch.instance, liveEventBatch.n);
      this.#take(liveEventBatch);
    }
  }

  #take({ instance, frames: told, leftOut }: LiveEventBatch): void {
    const { frames: liveEvents } = this.#deps;
    for (const one of JSON.parse(told) as readonly unknown[]) {
      const liveEvent = frameOf(one);
      if (liveEvent !== null) liveEvents.hear({ ...liveEvent, instance });
    }
    if (leftOut > 0) this.#missed(leftOut, instance);
  }
}

/** null: it is of a kind that only a newer svc knows. */
function frameOf(told: unknown): LiveEvent | null {
  try {
    const liveEvent = read(liveEventSchema, told);
    return liveEvent.kind === 'dropped' ? null : liveEvent;
  } catch (error) {
    if (error instanceof Misshapen) return null;
    throw error;
  }
}

/**
 * Tells the other instances how this one is, and reads what they told when a person asks. It is in
 * nobody's way: what cannot be told or read in time is told and read again later, and until then
 * the last that is known stands, as old as it is.
 */
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

const reportTimes: ReportTimes = {
  tellMs: 1_000,
  againMs: 3_000,
  sweepMs: 10_000,
  waitMs: 500,
  freshMs: 500,
};

type ReportDeps = {
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
