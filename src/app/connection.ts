/** A channel that is open, and its run, which may outlive the Plan that opened it. */
import type { Receive, Channel } from '../channels/channel.ts';
import type { Events } from '../domain/event.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import { endsWithin } from '../lib/lifetime.ts';
import { supervise } from '../lib/supervise.ts';
import type { Peers } from '../cluster/peers.ts';
import type { RunningConfig } from './running-config.ts';

/** How long a run that is to end may take; it may have a connection to end first. */
const stoppedMs = 5_000;

/** A connection belongs to one plan at a time. */
export class Connection {
  readonly key: ChannelKey;
  readonly channel: Channel;
  owner: RunningConfig;
  readonly #ending = new AbortController();
  #run: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | null = null;
  #events: Events | null = null;

  constructor(key: ChannelKey, channel: Channel, owner: RunningConfig) {
    this.key = key;
    this.channel = channel;
    this.owner = owner;
  }

  /**
   * Of several instances one alone runs the connection to an account.
   * @param before must have ended when this connection's run begins
   */
  start(receive: Receive, events: Events, peers: Peers, before: Promise<unknown> | null): void {
    this.#events = events;
    const { signal } = this.#ending;
    const type = channelTypeOf(this.key);
    const ended = (error: unknown, pauseMs: number): void => {
      const reason = `it ended early and is begun again in ${Math.round(pauseMs / 1000)} s`;
      events.channelChanged({ channel: type, state: 'degraded', reason });
      if (error !== null) events.faulted({ where: `channel ${type}`, error });
    };
    const runUntil = (stop: AbortSignal): Promise<void> =>
      supervise(() => this.channel.run(receive, stop), stop, ended);
    const isOne = this.channel.sameAs !== undefined;
    const run = (): Promise<void> =>
      isOne ? peers.hold(this.key, runUntil, signal) : runUntil(signal);
    this.#run = before === null ? run() : before.then(run);
  }

  /**
   * Takes no more messages in; resolves when the channel has let go. Never rejects, and nobody who
   * waits for it, such as the connection after it, waits for ever: what does not end is told, once.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#ending.abort();
    try {
      if (await endsWithin(this.#run, stoppedMs)) return;
      throw new Error('it did not end in time');
    } catch (error) {
      this.#events?.faulted({ where: `ending ${channelTypeOf(this.key)}`, error });
    }
  }
}
