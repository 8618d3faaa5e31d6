/**
 * Bots of one process, each on its own fake platform, and with a ledger that outlives its runs. The
 * bots share the HTTP client and the deadlines, as they do in svc.
 */
import type { Receive, Messenger } from '../../src/channels/channel.ts';
import { createDiscordChannel } from '../../src/channels/discord/discord.ts';
import type { MessengerConfig } from '../../src/channels/registry.ts';
import { createTelegramChannel } from '../../src/channels/telegram/telegram.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { patienceMs, until } from '../support/waiting.ts';
import { NotingLedger } from './discord-bench.ts';
import { startFakeDiscord, type DiscordOptions } from './discord.ts';
import { startFakeTelegram, type TelegramOptions } from './telegram.ts';
import { noteEvents } from './webhook.ts';

type Settings = Partial<Pick<MessengerConfig, 'name' | 'streaming' | 'edits' | 'gatherMs'>>;

/** A run of a channel, as of one process. */
type Run = { readonly channel: Messenger; readonly stop: () => Promise<void> };

export async function openBots() {
  await using made = new AsyncDisposableStack();
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  made.defer(() => http.close());
  const { events } = noteEvents();
  const shared = { http, deadlines, events, ...systemClock, random: Math.random };

  const configOf = (
    type: MessengerConfig['type'],
    baseUrl: string,
    { name = type, ...more }: Settings,
  ): MessengerConfig => {
    const manners = { streaming: false, gatherMs: 0, edits: false, speech: null };
    const tokenEnv = `${name.toUpperCase()}_TOKEN` as EnvName;
    return { name, type, tokenEnv, baseUrl, access: null, ...manners, ...more };
  };

  /** Runs a channel until the test stops it, or ends. */
  const start = async (channel: Messenger, receive: Receive): Promise<Run> => {
    await channel.open();
    const ending = new AbortController();
    const running = channel.run(receive, ending.signal);
    let isOver = false;
    const stop = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      ending.abort();
      await running;
      await channel[Symbol.asyncDispose]();
    };
    own.defer(stop);
    return { channel, stop };
  };

  /** The first message with that text, once the ledger has it. */
  const saidTo = async (ledger: NotingLedger, text: string) => {
    const of = () => ledger.messages.find((one) => one.text === text);
    await until(`the message ${text}`, () => of() !== undefined);
    return of()!;
  };

  async function telegram(options: TelegramOptions = {}, settings: Settings = {}) {
    const platform = own.use(await startFakeTelegram({ secondMs: 20, ...options }));
    const ledger = new NotingLedger();
    const config = configOf('messenger_a', platform.url, settings);
    const run = async (receive = ledger.receive): Promise<Run> => {
      const { token } = platform;
      const times = { heldPauseMs: 20 };
      const running = await start(
        createTelegramChannel({ ...shared, config, token, times }),
        receive,
      );
      await platform.until(() => platform.isPolled || undefined, 'a poll');
      return running;
    };
    return { platform, ledger, run, said: (text: string) => saidTo(ledger, text) };
  }

  async function discord(options: DiscordOptions = {}, settings: Settings = {}) {
    const platform = own.use(await startFakeDiscord({ identifyGapMs: 0, ...options }));
    const ledger = new NotingLedger();
    const config = configOf('messenger_b', platform.url, settings);
    const limits = { pauseMs: 20, pauseMsMax: 50, spacingMs: 0, tickMs: 20 };
    const run = async (receive = ledger.receive): Promise<Run> => {
      const { token } = platform;
      const running = await start(
        createDiscordChannel({ ...shared, config, token, limits }),
        receive,
      );
      await platform.waitForReady();
      return running;
    };
    return { platform, ledger, run, said: (text: string) => saidTo(ledger, text) };
  }

  const own = made.move();
  return { telegram, discord, [Symbol.asyncDispose]: () => own.disposeAsync() };
}
