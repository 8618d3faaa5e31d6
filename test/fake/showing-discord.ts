/** Discord messages before, instead of and after a reply, for the tests of each. */
import type { EnvName } from '../../src/config/secret-value.ts';
import type { MessengerConfig } from '../../src/channels/registry.ts';
import { createDiscordChannel } from '../../src/channels/discord/discord.ts';
import type { MessageId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { systemClock, type Clock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { hastened } from '../support/hand-clock.ts';
import { until } from '../support/waiting.ts';
import { startFakeDiscord, type DiscordOptions } from './discord.ts';
import { NotingLedger } from './discord-bench.ts';
import type { Channel as Place } from './discord/wire.ts';
import { noteEvents } from './webhook.ts';

const first = { number: 1, possibleDuplicate: false, late: false };

/**
 * A channel of Discord's, and the messages of the platform.
 * @param haste divides each wait
 */
export async function startShowing(
  more: Partial<MessengerConfig> = {},
  options: DiscordOptions = {},
  haste = 1,
  clock: Clock = systemClock,
) {
  const own = new AsyncDisposableStack();
  const fake = own.use(await startFakeDiscord({ identifyGapMs: 0, ...options }));
  const deadlines = hastened(createDeadlines(), haste);
  const http = createHttpClient(deadlines);
  own.defer(() => http.close());
  const ledger = new NotingLedger();
  const manners = { streaming: true, gatherMs: 0, edits: false, speech: null } as const;
  const tokenEnv = 'DISCORD_TOKEN' as EnvName;
  const type = 'messenger_b';
  const where = { name: type, type, tokenEnv, baseUrl: fake.url, access: null } as const;
  const config: MessengerConfig = { ...where, ...manners, ...more };
  const limits = { pauseMs: 20, pauseMsMax: 50, spacingMs: 0, tickMs: 20 };
  const { events } = noteEvents();
  const rest = { http, deadlines, events, ...clock, random: Math.random, limits };
  const channel = own.use(createDiscordChannel({ config, token: fake.token, ...rest }));
  await channel.open();
  const ada = fake.user('Ada');
  const chat = fake.direct(ada);
  const deliver = (reply: Partial<Reply>, target: string = chat.id) => {
    const address = { channel: 'messenger_b:1', target };
    const whole = { id: '01kz8c4h9e2q7x5t0m3vbn', inReplyTo: 'q1', address, ...reply };
    return channel.deliver(whole as Reply, first, new Stopper());
  };
  const question = '01kz8c4h9e2q7x5t0m3vbp' as MessageId;
  return {
    fake,
    ledger,
    channel,
    ada,
    chat,
    deliver,
    preview: (target: string, replaces: string | null = null) => {
      const made: string[] = [];
      const address = { channel: 'messenger_b:1', target } as Reply['address'];
      const shown = { address, question, replaces };
      const preview = channel.preview!({ ...shown, made: (one) => void made.push(one) });
      return { preview, made };
    },
    answer: ({ dedupeKey, address }: Inbound, text: string, id: string) =>
      deliver({ id, text, address, inReplyTo: dedupeKey as MessageId } as never),
    async run() {
      const ending = new AbortController();
      const running = channel.run(ledger.receive, ending.signal);
      own.defer(async () => {
        ending.abort();
        await running;
      });
      await fake.waitForReady();
    },
    called: (route: string) =>
      fake.until(() => fake.calls.find((call) => call.route === route), route),
    /** The bot's texts in that channel. */
    texts: ({ id }: Place = chat) =>
      fake.sent
        .filter(({ channelId }) => channelId === id)
        .map(({ message }) => fake.shown(message)?.content)
        .filter((content) => content !== undefined),
    asked: async (n: number): Promise<void> => {
      await until(`${n} questions`, () => ledger.messages.length >= n);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

export const long = 'An answer of some **length** that goes on for a while, and';
export const create = 'POST /channels/:id/messages';
export const patch = 'PATCH /channels/:id/messages/:id';
export const take = 'DELETE /channels/:id/messages/:id';
