/** A channel without a platform: the test hands messages in, and it notes its deliveries. */
import type { RoutedChannel } from '../../src/app/running-config.ts';
import type { Brain } from '../../src/brains/brain.ts';
import type {
  Receive,
  Channel,
  ChannelProblem,
  ReceiveResult,
} from '../../src/channels/channel.ts';
import type { ChannelType } from '../../src/channels/registry.ts';
import type { ChannelKey, ConversationId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import type { Reply } from '../../src/domain/reply.ts';
import type { ActiveRoute, BrainRoute } from '../../src/pipeline/deps.ts';

/** The platform, which outlives the running configurations and their channels. */
export class FakePlatform {
  readonly delivered: Reply[] = [];
  readonly key: ChannelKey;
  readonly #connected: Receive[] = [];

  constructor(key = 'webhook') {
    this.key = key as ChannelKey;
  }

  /** Hands one message to the newest connected channel. */
  say(conversation: string, text: string): Promise<ReceiveResult> {
    const receive = this.#connected.at(-1);
    if (receive === undefined) throw new Error('no channel is connected');
    const { key } = this;
    const message: Inbound = {
      channel: key,
      conversation: conversation as ConversationId,
      sender: { id: conversation, name: null },
      text,
      media: null,
      address: { channel: key, target: conversation },
      dedupeKey: null,
    };
    return receive([message]);
  }

  /** @param problem the result of opening it; null: it opens */
  channel(problem: ChannelProblem | null = null): Channel {
    return {
      reportsSessions: true,
      open: async () => problem ?? { kind: 'opened', key: this.key },
      run: (receive, signal) => {
        this.#connected.push(receive);
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            this.#connected.splice(this.#connected.indexOf(receive), 1);
            resolve();
          });
        });
      },
      deliver: async (reply) => {
        await new Promise(setImmediate);
        this.delivered.push(reply);
        return { kind: 'delivered' };
      },
      health: () => ({ state: 'up', since: 0, reason: null, lastSeenAt: null }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
}

/** The only route of a channel: it takes every message. */
export function everyMessageTo(brain: Brain): readonly BrainRoute[] {
  return [{ number: 1, brain, when: null, description: null }];
}

export function brainsByName(...brains: readonly Brain[]): ReadonlyMap<string, Brain> {
  return new Map(brains.map((brain) => [brain.name, brain]));
}

/** A channel without a name of its own, whose messages all go to that brain. */
export function routed(
  type: ChannelType,
  channel: Channel,
  brain: Brain,
  more: Partial<RoutedChannel> = {},
): RoutedChannel {
  const routes = everyMessageTo(brain);
  return { name: type, type, channel, routes, session: null, access: null, ...more };
}

/** The same for a message that is under way. */
export function activeRoute(brain: Brain, more: Partial<ActiveRoute> = {}): ActiveRoute {
  const channel = routed('webhook', {} as Channel, brain);
  const taken = { number: 1, brain: brain.name, matched: [] };
  return { ...channel, brains: brainsByName(brain), brain, taken, ...more };
}
