/** A Telegram channel on the faithful fake, and the messages in its chats. */
import type { EnvName } from '../../src/config/secret-value.ts';
import type { MessengerConfig } from '../../src/channels/registry.ts';
import type { MessageId } from '../../src/domain/ids.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { createTelegramChannel } from '../../src/channels/telegram/telegram.ts';
import { hastened } from '../support/hand-clock.ts';
import { until } from '../support/waiting.ts';
import { NotingLedger } from './discord-bench.ts';
import { startFakeTelegram } from './telegram.ts';
import type { DraftsFor } from './telegram/drafts.ts';
import { noteEvents } from './webhook.ts';

const first = { number: 1, possibleDuplicate: false, late: false };

/**
 * @param now of the platform, in milliseconds since 1970
 * @param haste divides each wait
 * @param draftsFor the chats in which the platform allows drafts
 */
export async function startShowing(
  more: Partial<MessengerConfig> = {},
  now = Date.now,
  haste = 1,
  draftsFor: DraftsFor = 'nobody',
) {
  const own = new AsyncDisposableStack();
  const telegram = own.use(await startFakeTelegram({ secondMs: 20, now, draftsFor }));
  const deadlines = hastened(createDeadlines(), haste);
  const http = createHttpClient(deadlines);
  own.defer(() => http.close());
  const ledger = new NotingLedger();
  const manners = { streaming: true, gatherMs: 0, edits: false, speech: null } as const;
  const tokenEnv = 'TELEGRAM_TOKEN' as EnvName;
  const type = 'messenger_a';
  const where = { name: type, type, tokenEnv, baseUrl: telegram.url, access: null } as const;
  const config: MessengerConfig = { ...where, ...manners, ...more };
  const times = { heldPauseMs: 10 };
  const { events } = noteEvents();
  const rest = { http, deadlines, events, ...systemClock, random: Math.random, times };
  const channel = createTelegramChannel({ config, token: telegram.token, ...rest });
  await channel.open();
  const addressOf = (target: readonly (number | null)[]) => {
    return { channel: 'messenger_a:1', target: JSON.stringify(target) } as Reply['address'];
  };
  const ann = telegram.privateChat(telegram.person('Ann'));
  const deliverTo = (reply: Reply) => channel.deliver(reply, first, new Stopper());
  return {
    deliverTo,
    addressOf,
    until: (holds: () => boolean) => until(String(holds), holds),
    telegram,
    ledger,
    channel,
    ann,
    deliver: (reply: Partial<Reply>, target: readonly (number | null)[] = [ann.id, null, null]) => {
      const whole = { id: 'r1', inReplyTo: 'q1', address: addressOf(target), ...reply };
      return deliverTo(whole as Reply);
    },
    /** Begins to show a reply to a message with that address. */
    preview: (target: readonly (number | null)[], replaces: string | null = null) => {
      const made: string[] = [];
      const question = 'q1' as MessageId;
      const shown = { address: addressOf(target), question, replaces };
      const preview = channel.preview!({ ...shown, made: (one) => void made.push(one) });
      return { preview, made };
    },
    run() {
      const ending = new AbortController();
      const running = channel.run(ledger.receive, ending.signal);
      own.defer(async () => {
        ending.abort();
        await running;
      });
    },
    /** The bot's texts in that chat. */
    texts: () => {
      const standing = telegram.sent.map(({ message }) => telegram.shown(message));
      return standing.flatMap((message) => (message?.text === undefined ? [] : [message.text]));
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
