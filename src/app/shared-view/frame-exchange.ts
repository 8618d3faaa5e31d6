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
import { liveEventSchema } from '../../admin/schemas/live-event.ts';
import { Misshapen, read } from '../../admin/schemas/schema.ts';
import type { LiveEvent } from '../../domain/live-event.ts';
import type { SharedLiveEvents } from '../../telemetry/live-events.ts';
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { LiveEventBatch, SharedView } from '../../cluster/shared-view.ts';

export type LiveEventTimes = {
  readonly lotMs: number;
  /** How long a lease holds; it is told three times in that time. */
  readonly leaseMs: number;
  /** For so long lots are heard after the last listener has left. */
  readonly graceMs: number;
};

export const liveEventTimes: LiveEventTimes = { lotMs: 250, leaseMs: 12_000, graceMs: 10_000 };

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
