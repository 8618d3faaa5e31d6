/**
 * A messenger without a network: a queue in which only accepting a message confirms it, and one
 * account. Two clients that fetch from it at once are a fault.
 */
import { systemClock } from '../../src/lib/clock.ts';
import { HealthState, type Channel, type ReceiveResult } from '../../src/channels/channel.ts';
import type { ChannelKey, ConversationId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import type { Reply } from '../../src/domain/reply.ts';

type Bot = Channel & { readonly token: string; readonly settings: string };

type Update = { readonly message: Inbound; readonly done: (handled: ReceiveResult) => void };

export class FakeMessenger {
  /** A test may change it, as a new name of the channel does. */
  key: ChannelKey;
  readonly delivered: Reply[] = [];
  /** How often a client opened a connection, began to fetch, and closed. */
  readonly counts = { opened: 0, runs: 0, closed: 0, fetchingMost: 0 };
  /** A resent message has the number of the first. */
  #number = 0;
  #fetching = 0;
  readonly #queue: Update[] = [];
  #wake = (): void => {};
  /** The platform refuses the token of each client that begins to fetch. */
  refuses = false;

  constructor(key = 'messenger_a:77') {
    this.key = key as ChannelKey;
  }

  /** Resolves with the service's answer. A refused message waits until the next one. */
  say(sender: string, text: string, more: Partial<Inbound> = {}): Promise<ReceiveResult> {
    const { key } = this;
    const message: Inbound = {
      channel: key,
      conversation: sender as ConversationId,
      sender: { id: sender, name: `Name of ${sender}` },
      text,
      media: null,
      address: { channel: key, target: sender },
      dedupeKey: String(++this.#number),
      setting: 'direct',
      ...more,
    };
    return new Promise((done) => {
      this.#queue.push({ message, done });
      this.#wake();
    });
  }

  /** @param reportsSessions whether its wire had a field for sessions */
  bot(token: string, settings = 'plain', reportsSessions = false): Bot {
    const health = new HealthState(systemClock);
    return {
      token,
      settings,
      reportsSessions,
      open: async () => {
        if (!/^\d+:/.test(token)) {
          const message = 'BOT_TOKEN holds no bot token; set it to the one that you were given.';
          health.become('failed', message);
          return { kind: 'unfit', message };
        }
        this.counts.opened++;
        return { kind: 'opened', key: this.key };
      },
      run: async (receive, signal) => {
        this.counts.runs++;
        this.#fetching++;
        this.counts.fetchingMost = Math.max(this.counts.fetchingMost, this.#fetching);
        health.become('up');
        if (this.refuses) {
          health.become('failed', 'The platform refused the token in BOT_TOKEN.');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        }
        while (!signal.aborted) {
          const [update] = this.#queue;
          if (update === undefined) {
            await this.#fetch(signal);
            continue;
          }
          health.seen();
          const handled = await receive([update.message]);
          update.done(handled);
          if (handled.kind === 'accepted') this.#queue.shift();
          else await this.#fetch(signal);
        }
        // A platform takes time to end a connection.
        for (let i = 0; i < 20; i++) await new Promise(setImmediate);
        this.#fetching--;
        health.become('stopped');
      },
      deliver: async (reply) => {
        await new Promise(setImmediate);
        this.delivered.push(reply);
        return { kind: 'delivered' };
      },
      health: () => health.health,
      sameAs: (other) => {
        const { token: itsToken, settings: itsSettings } = other as Partial<Bot>;
        return itsToken === token && itsSettings === settings;
      },
      [Symbol.asyncDispose]: async () => void this.counts.closed++,
    };
  }

  #fetch(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
