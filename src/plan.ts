/**
 * A Plan lives as long as a config revision: its channels and brains, immutable, owning only what
 * it opened. The Host swaps one Plan for another. A claim finishes with the Plan under which it
 * was taken; a retired Plan waits for its claims, then aborts what is left, then closes.
 *
 * States: made → opened → in use → retired → closed.
 */
import type { Brain } from './brain/brain.ts';
import type { Accept, Channel, ChannelProblem } from './channel/channel.ts';
import type { ChannelType, SessionConfig } from './config/config.ts';
import type { Events } from './domain/event.ts';
import type { ChannelKey } from './domain/ids.ts';
import type { Line } from './flow/kit.ts';
import { Linked, LinkedSet } from './lib/linked-set.ts';
import type { Model } from './model/model.ts';
import { supervise } from './lib/supervise.ts';

/** One configured channel with the brain of its route; without a route it is not in the plan. */
export type PlannedChannel = {
  readonly type: ChannelType;
  readonly channel: Channel;
  readonly brain: Brain;
  readonly session: SessionConfig | null;
};

/** A model that a private brain asks, for it is declared to be of this machine. */
export type TrustedModel = { readonly brain: string; readonly model: Model };

/** One claim that is worked on under a plan. */
export class Work extends Linked {
  readonly ending = new AbortController();
}

/** What is aborted ends soon. What does not is a fault, and not worth a process that never ends. */
const abortedMs = 1_000;

export class Plan {
  readonly revision: string;
  readonly channels: readonly PlannedChannel[];
  readonly brains: ReadonlyMap<string, Brain>;
  readonly trusted: readonly TrustedModel[];
  readonly #lines = new Map<ChannelKey, Line>();
  readonly #atWork = new LinkedSet<Work>();
  readonly #running = new AbortController();
  #runs: Promise<unknown> = Promise.resolve();
  #emptied: (() => void) | null = null;

  constructor(
    revision: string,
    channels: readonly PlannedChannel[],
    brains: ReadonlyMap<string, Brain>,
    trusted: readonly TrustedModel[] = [],
  ) {
    this.revision = revision;
    this.channels = channels;
    this.brains = brains;
    this.trusted = trusted;
  }

  /** What can be worked on under this plan, by the ledger's key of the channel. */
  get lines(): ReadonlyMap<ChannelKey, Line> {
    return this.#lines;
  }

  /** Opens every channel; when one cannot, what was opened is closed again and the problem told. */
  async open(): Promise<ChannelProblem | null> {
    for (const { channel, brain, session } of this.channels) {
      const opened = await channel.open();
      if (opened.kind === 'problem') {
        await this.#close();
        return opened;
      }
      this.#lines.set(opened.key, { channel, brain, session });
    }
    return null;
  }

  /** Takes messages in on every channel, until the plan is retired. */
  run(acceptOn: (channel: ChannelKey) => Accept, events: Events): void {
    const { signal } = this.#running;
    const runs = [...this.#lines].map(([key, { channel }]) => {
      const type = key.split(':', 1)[0]!;
      const accept = acceptOn(key);
      const ended = (error: unknown, pauseMs: number): void => {
        const reason = `it ended early and is begun again in ${Math.round(pauseMs / 1000)} s`;
        events.channelChanged({ channel: type, state: 'degraded', reason });
        if (error !== null) events.faulted({ where: `channel ${type}`, error });
      };
      return supervise(() => channel.run(accept, signal), signal, ended);
    });
    this.#runs = Promise.all(runs);
  }

  /** Begins one piece of work under this plan; its controller ends it early. */
  enter(): Work {
    const work = new Work();
    this.#atWork.add(work);
    return work;
  }

  leave(work: Work): void {
    this.#atWork.delete(work);
    if (this.#atWork.size === 0) this.#emptied?.();
  }

  /** Stops taking messages in, and waits until the channels have let go. */
  async stopTaking(): Promise<void> {
    this.#running.abort();
    await this.#runs;
  }

  get busy(): boolean {
    return this.#atWork.size > 0;
  }

  /** Waits for the work under way, at most `graceMs`; then aborts it and waits a moment more. */
  async finish(graceMs: number): Promise<void> {
    await this.#emptiedWithin(graceMs);
    this.abortWork();
    await this.#emptiedWithin(abortedMs);
  }

  #emptiedWithin(ms: number): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#emptied = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  abortWork(): void {
    for (const work of this.#atWork) work.ending.abort();
  }

  /** Taken out of use: no new messages, up to `graceMs` for what was claimed, then closed. */
  async retire(graceMs: number): Promise<void> {
    await this.stopTaking();
    await this.finish(graceMs);
    await this.#close();
  }

  async #close(): Promise<void> {
    for (const { channel } of this.channels) await channel[Symbol.asyncDispose]();
    this.#lines.clear();
  }
}
