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
import { frameSchema } from '../../admin/schemas/live-event.ts';
import { Misshapen, read } from '../../admin/schemas/schema.ts';
import type { Frame } from '../../domain/live-event.ts';
import type { SharedFrames } from '../../telemetry/live-events.ts';
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Peers } from '../../cluster/peers.ts';
import type { Lot, SharedView } from '../../cluster/shared-view.ts';

export type FrameTimes = {
  readonly lotMs: number;
  /** How long a lease holds; it is told three times in that time. */
  readonly leaseMs: number;
  /** For so long lots are heard after the last listener has left. */
  readonly graceMs: number;
};

export const frameTimes: FrameTimes = { lotMs: 250, leaseMs: 12_000, graceMs: 10_000 };

/** So many frames an instance may tell in a second. */
export const framesMax = 200;

/** What is told: the number of who listens. */
const listening = 'frames_listened';

type Parts = Clock & {
  readonly peers: Peers;
  readonly view: SharedView;
  readonly frames: SharedFrames;
};

export class FrameExchange implements Disposable {
  readonly #sender: FrameSender;
  readonly #hearer: FrameHearer;
  readonly #unsubscribe: () => void;

  constructor(parts: Parts, times: Partial<FrameTimes> = {}) {
    const all = { ...frameTimes, ...times };
    const sender = new FrameSender(parts, all);
    this.#sender = sender;
    this.#hearer = new FrameHearer(parts, all);
    const { id } = parts.peers;
    parts.frames.name(() => (parts.peers.share() > 1 ? id : null));
    this.#unsubscribe = parts.peers.on(listening, (who) => {
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
class FrameSender {
  readonly #parts: Parts;
  readonly #times: FrameTimes;
  #until: SteadyTime | null = null;
  #frames: Frame[] = [];
  #leftOut = 0;
  /** Frames that may be told now. */
  #allowed = framesMax;
  #n = 0;
  #timer: NodeJS.Timeout | null = null;
  #endOwn: (() => void) | null = null;
  #isTelling = false;

  constructor(parts: Parts, times: FrameTimes) {
    this.#parts = parts;
    this.#times = times;
  }

  lease(): void {
    const { steady, frames } = this.#parts;
    this.#until = later(steady(), this.#times.leaseMs);
    this.#endOwn ??= frames.onOwn((frame) => this.#take(frame));
    this.#timer ??= setInterval(() => this.#tick(), this.#times.lotMs).unref();
  }

  end(): void {
    this.#until = null;
    this.#endOwn?.();
    this.#endOwn = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#frames = [];
    this.#leftOut = 0;
  }

  #take(frame: Frame): void {
    if (this.#frames.length < this.#allowed) this.#frames.push(frame);
    else this.#leftOut++;
  }

  #tick(): void {
    if (this.#until === null || this.#parts.steady() > this.#until) return this.end();
    if (this.#isTelling) return;
    const most = (framesMax * this.#times.lotMs) / 1_000;
    const [frames, leftOut] = [this.#frames, this.#leftOut];
    this.#allowed = Math.min(framesMax, this.#allowed - frames.length + most);
    if (frames.length + leftOut === 0) return;
    this.#frames = [];
    this.#leftOut = 0;
    void this.#tell(frames, leftOut);
  }

  /** A lot that was not told is missed by its number. */
  async #tell(frames: readonly Frame[], leftOut: number): Promise<void> {
    const { peers, view } = this.#parts;
    const lot = { instance: peers.id, n: ++this.#n, leftOut, frames: JSON.stringify(frames) };
    this.#isTelling = true;
    await view.tell(lot).catch(() => {});
    this.#isTelling = false;
  }
}

/** Hears the frames of the others, while somebody listens here. */
class FrameHearer {
  readonly #parts: Parts;
  readonly #times: FrameTimes;
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

  constructor(parts: Parts, times: FrameTimes) {
    this.#parts = parts;
    this.#times = times;
    const { frames, peers } = parts;
    const look = (): void => (frames.isListened ? this.#begin() : this.#leave());
    this.#unsubscribes = [frames.onListened(look), peers.onChange(() => this.#othersChanged())];
    if (frames.isListened) this.#begin();
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    this.#stop();
  }

  get #others(): readonly number[] {
    const { peers } = this.#parts;
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
    const { peers } = this.#parts;
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
    const { frames, now } = this.#parts;
    frames.hear({ kind: 'dropped', at: now(), count, instance });
  }

  #tick(): void {
    if (this.#isHearing || this.#others.length === 0) return;
    this.#isHearing = true;
    void this.#hear()
      .catch(() => {})
      .finally(() => (this.#isHearing = false));
  }

  async #hear(): Promise<void> {
    const { view } = this.#parts;
    const heard = this.#heard ?? new Map(await view.newest());
    if (this.#lease === null) return;
    this.#heard = heard;
    if (this.#isUntold) this.#missed(null, null);
    this.#isUntold = false;
    for (const lot of await view.hear(
      new Map(this.#others.map((id) => [id, heard.get(id) ?? 0])),
    )) {
      if (this.#heard !== heard) return;
      const known = heard.get(lot.instance);
      if (known !== undefined && lot.n > known + 1) this.#missed(null, lot.instance);
      heard.set(lot.instance, lot.n);
      this.#take(lot);
    }
  }

  #take({ instance, frames: told, leftOut }: Lot): void {
    const { frames } = this.#parts;
    for (const one of JSON.parse(told) as readonly unknown[]) {
      const frame = frameOf(one);
      if (frame !== null) frames.hear({ ...frame, instance });
    }
    if (leftOut > 0) this.#missed(leftOut, instance);
  }
}

/** null: it is of a kind that only a newer svc knows. */
function frameOf(told: unknown): Frame | null {
  try {
    const frame = read(frameSchema, told);
    return frame.kind === 'dropped' ? null : frame;
  } catch (error) {
    if (error instanceof Misshapen) return null;
    throw error;
  }
}
