/**
 * The Telegram channel (`messenger_a`): a bot that polls the Bot API
 * (https://core.telegram.org/bots/api).
 *
 * Its key holds the bot's id. That is the first part of the token, so svc knows it without a
 * request. `health()` reports every trouble with the platform; it never stops the boot.
 */
import { dayMs } from '../../lib/durations.ts';
import type { MessengerConfig } from '../registry.ts';
import type { ChannelState, Events } from '../../domain/event.ts';
import { channelKeyOf } from '../../domain/ids.ts';
import type { Address } from '../../domain/message.ts';
import type { Attempt, DeliveryOutcome, Reply, ReplyPart } from '../../domain/reply.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import { LoadOnce } from '../../lib/load-once.ts';
import type { Stop } from '../../lib/stop.ts';
import {
  HealthState,
  type Receive,
  type Channel,
  type ChannelHealth,
  type FetchResult,
  type Identity,
  type Messenger,
  type OfferedCommands,
  type Opened,
  type Preview,
  type PreviewRequest,
  type Unfit,
  type WebhookProbe,
} from '../channel.ts';
import { splitReply } from '../messenger/splitting.ts';
import { CommandMenu } from '../messenger/command-menu.ts';
import { FirstSeen, RecentQuestions, formerAnswer, revise } from '../messenger/recent-questions.ts';
import { noPreview, Cleanup } from '../messenger/growing-message.ts';
import { loadBotApi, refusesToken, type BotApi } from './bot-api.ts';
import { BestEffortCalls } from './best-effort-calls.ts';
import { publishCommands } from './command-menu.ts';
import { Drafts } from './drafts.ts';
import { fetchFile } from './fetching.ts';
import { telegram } from './kind.ts';
import { loadLexer, type Lexer } from './markdown.ts';
import { createRateLimiter, type RateLimiter } from './rate-limits.ts';
import { directChatOf, questionEdited, parseBot } from './wire.ts';
import { Poller, pollTimes, type PollTimes } from './polling.ts';
import { beginPreview } from './previews.ts';
import { remove } from './place-reply.ts';
import { showEyes } from './reaction.ts';
import { fitted, send, textMax, withoutUnsure } from './sending.ts';
import { showTyping } from './typing.ts';
import { inspectWebhook } from './webhook.ts';

export type TelegramDeps = Clock & {
  readonly config: MessengerConfig;
  readonly token: string;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly events: Events;
  readonly random: () => number;
  /** Shorter times for tests. */
  readonly times?: Partial<PollTimes>;
};

/** Makes the channel; it loads and asks nothing before `open`. */
export function createTelegramChannel(deps: TelegramDeps): Messenger {
  return new Telegram(deps);
}

/** Nobody in a chat can use an answer that is a day late. */
const deliverMsMax = dayMs;
const cutting = {
  unitsMax: textMax,
  unitsOf: (text: string) => text.length,
  fences: true,
  codeCharactersMax: 3_000,
};
const healthMs = 90_000;

type Loaded = {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly bestEffort: BestEffortCalls;
};

class Telegram implements Messenger {
  readonly reportsSessions = false;
  readonly deliverMsMax = deliverMsMax;
  readonly #deps: TelegramDeps;
  readonly #health: HealthState;
  readonly #rateLimiter: RateLimiter;
  readonly #drafts: Drafts;
  readonly #menu: CommandMenu;
  readonly #seenMessages = new FirstSeen();
  readonly #disposed = new AbortController();
  readonly #cleanup: Cleanup;
  readonly #loaded: LoadOnce<Loaded>;
  /** Null: the channel ignores edits. */
  readonly #questions: RecentQuestions | null;
  readonly preview?: NonNullable<Messenger['preview']>;

  constructor(deps: TelegramDeps) {
    const { steady, events, config, token, http, deadlines } = deps;
    const { baseUrl } = config;
    this.#deps = deps;
    this.#questions = config.edits ? new RecentQuestions(steady, config.gatherMs) : null;
    if (config.streaming) this.preview = (shown) => this.#preview(shown);
    const rateLimiter = createRateLimiter(deps);
    this.#rateLimiter = rateLimiter;
    this.#drafts = new Drafts(steady);
    this.#loaded = new LoadOnce(async () => {
      const loadingApi = loadBotApi({ token, baseUrl, http, deadlines, steady });
      const [api, lexer] = await Promise.all([loadingApi, loadLexer()]);
      return {
        api,
        lexer,
        bestEffort: new BestEffortCalls({ api, rateLimiter, deadlines, steady }),
      };
    });
    this.#cleanup = new Cleanup(deadlines, async (message) =>
      this.#loaded.value === null ? false : remove(this.#loaded.value.api, message),
    );
    const menu = new CommandMenu({
      publish: (offered, signal) =>
        publishCommands(this.#loaded.value?.api ?? null, offered, signal),
      events,
      steady,
    });
    this.#menu = menu;
    const changed = (state: ChannelState, reason: string | null): void => {
      events.channelChanged({ channel: config.type, state, reason });
      if (state === 'up') menu.up();
    };
    this.#health = new HealthState(deps, changed, () => menu.platformAnswered());
  }

  async open(): Promise<Opened | Unfit> {
    const { token, config } = this.#deps;
    const id = telegram.botOf(token);
    if (id === null) {
      const remedy = `copy the whole of it from @BotFather, set ${config.tokenEnv} to it, restart`;
      const message = `${malformedToken(config.tokenEnv)}; ${remedy}`;
      this.#health.become('failed', message);
      return { kind: 'unfit', message };
    }
    await this.#loaded.get();
    return { kind: 'opened', key: channelKeyOf(telegram.type, id) };
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { api, bestEffort } = await this.#loaded.get();
    const { config, token, events, steady, random, times } = this.#deps;
    const id = token.split(':', 1)[0]!;
    const poller = new Poller(
      {
        channel: channelKeyOf(telegram.type, id),
        tokenName: config.tokenEnv,
        api,
        bestEffort,
        health: this.#health,
        questions: this.#questions,
        gatherMs: config.gatherMs,
        events,
        times: { ...pollTimes, ...times },
        steady,
        random,
      },
      receive,
      signal,
    );
    await poller.run();
  }

  async deliver(reply: Reply, attempt: Attempt, stop: Stop): Promise<DeliveryOutcome> {
    const { token, random } = this.#deps;
    const loaded = await this.#loaded.get();
    const prepared = await withoutUnsure(loaded.api, reply, stop.signal);
    if (prepared.kind !== 'ready') return prepared;
    const revision = revise(this.#questions, prepared.reply, questionEdited(reply.address));
    let message: string | null = null;
    const sent = (one: string): void => void (message = one);
    const deps = { ...loaded, rateLimiter: this.#rateLimiter, token, random, sent };
    const outcome = await send(deps, revision.reply, attempt, stop.signal);
    if (outcome.kind !== 'delivered') return outcome;
    for (const needless of revision.delivered(message)) void this.#cleanup.remove(needless);
    return outcome;
  }

  #preview(shown: PreviewRequest): Preview {
    const loaded = this.#loaded.value;
    if (loaded === null) return noPreview;
    // The former answer stays until the new one is there.
    const former = formerAnswer(this.#questions, questionEdited(shown.address));
    if (former.length > 0) return noPreview;
    const { deadlines, steady } = this.#deps;
    const { lexer, bestEffort } = loaded;
    const known = { cleanup: this.#cleanup, drafts: this.#drafts, deadlines, steady };
    const deps = { lexer, ...bestEffort.preview, ...known };
    return beginPreview(deps, shown) ?? noPreview;
  }

  async fetch(file: string, bytesMax: number, stop: Stop): Promise<FetchResult> {
    const { token, config, http, steady } = this.#deps;
    const { api } = await this.#loaded.get();
    const deps = { api, token, baseUrl: config.baseUrl, http, steady };
    return fetchFile(deps, file, bytesMax, stop);
  }

  /** Cuts the Markdown, which is never shorter than its rendered text. */
  split(text: string): readonly ReplyPart[] {
    return splitReply(text, cutting);
  }

  plain({ text, file }: ReplyPart): string {
    const lexer = this.#loaded.value?.lexer;
    return lexer === undefined || file !== undefined ? text : fitted(text, lexer).text;
  }

  showWorking(address: Address, signal: AbortSignal): void {
    const { deadlines } = this.#deps;
    const bestEffort = this.#loaded.value?.bestEffort;
    if (bestEffort === undefined) return;
    showTyping({ bestEffort, deadlines }, address, signal);
    showEyes(bestEffort, address, this.#seenMessages, this.#disposed.signal);
  }

  publishCommands(offered: OfferedCommands): void {
    this.#menu.offer(offered);
  }

  /** Judges polls by their ends, since a poll can hang for ever. */
  health(): ChannelHealth {
    const { health } = this.#health;
    const { silentMs } = this.#health;
    if (health.state === 'up' && silentMs > healthMs) {
      const reason = `no poll has ended for ${Math.round(silentMs / 1_000)} s`;
      this.#health.become('degraded', reason);
    }
    return this.#health.health;
  }

  sameAs(other: Channel): boolean {
    if (!(other instanceof Telegram)) return false;
    const ours = this.#deps;
    const theirs = other.#deps;
    return (
      ours.token === theirs.token &&
      ours.config.tokenEnv === theirs.config.tokenEnv &&
      ours.config.baseUrl === theirs.config.baseUrl &&
      ours.config.streaming === theirs.config.streaming &&
      ours.config.gatherMs === theirs.config.gatherMs &&
      ours.config.edits === theirs.config.edits
    );
  }

  /** Sends no request. If the person has not begun the chat, the first message fails. */
  direct(user: string): ReturnType<NonNullable<Messenger['direct']>> {
    const id = telegram.botOf(this.#deps.token);
    const chat = id === null ? null : directChatOf(user);
    if (id === null || chat === null) return Promise.resolve(null);
    const { conversation, target } = chat;
    const channel = channelKeyOf(telegram.type, id);
    return Promise.resolve({ conversation, address: { channel, target } });
  }

  async identify(signal: AbortSignal): Promise<Identity> {
    const { token, config } = this.#deps;
    const { tokenEnv } = config;
    if (telegram.botOf(token) === null)
      return { kind: 'refused', message: malformedToken(tokenEnv) };
    const { api } = await this.#loaded.get();
    const result = await api.call('getMe', {}, pollTimes.callMs, signal);
    if (refusesToken(result)) {
      return { kind: 'refused', message: `refused the token in ${tokenEnv}` };
    }
    const bot = result.kind === 'done' ? parseBot(result.result) : null;
    if (bot !== null) return { kind: 'known', id: String(bot.id), name: `@${bot.username}` };
    return { kind: 'unreached', message: `could not be asked about the token in ${tokenEnv}` };
  }

  async webhook(signal: AbortSignal, deleting: boolean): Promise<WebhookProbe> {
    if (telegram.botOf(this.#deps.token) === null) return { kind: 'unknown' };
    const { api } = await this.#loaded.get();
    return inspectWebhook(api, deleting, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#menu.end();
    this.#disposed.abort();
  }
}

function malformedToken(tokenEnv: string): string {
  return `${tokenEnv} holds no bot token, which looks like 123456789:AAH…`;
}
