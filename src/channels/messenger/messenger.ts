/**
 * A channel of a chat platform: one bot, its people and groups. This class has the algorithm once;
 * a platform adds its facts and its calls (platform.ts).
 *
 * The key of the channel holds the bot's id, which is a part of the token. So svc knows it without
 * a request. `health()` reports every trouble with the platform; it never stops the boot. What a
 * platform needs loads at the first use, so a service without this channel pays nothing for it.
 */
import type { ChannelState, Events } from '../../domain/event.ts';
import { failure } from '../../domain/failure.ts';
import { channelKeyOf, type ChannelKey } from '../../domain/ids.ts';
import type { Address } from '../../domain/message.ts';
import type { Attempt, DeliveryOutcome, Reply, ReplyPart } from '../../domain/reply.ts';
import { later, type Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import { LoadOnce } from '../../lib/load-once.ts';
import type { Stop } from '../../lib/stop.ts';
import {
  HealthState,
  type Channel,
  type ChannelHealth,
  type FetchResult,
  type Identity,
  type Messenger,
  type OfferedCommands,
  type Opened,
  type Preview,
  type PreviewRequest,
  type Receive,
  type Unfit,
} from '../channel.ts';
import { kindOf, type MessengerConfig } from '../registry.ts';
import { BestEffort, Typing } from './best-effort.ts';
import { CommandMenu } from './command-menu.ts';
import { deliver, outgoingOf, plainOutcome, remove, withoutUnsure } from './delivery.ts';
import { Cleanup, GrowingMessage, noPreview } from './growing-message.ts';
import type { Platform, PlatformKind, Refusal } from './platform.ts';
import { GrowingReply, previewKey } from './preview.ts';
import { FirstSeen, formerAnswer, RecentQuestions, revise } from './recent-questions.ts';
import { splitReply } from './splitting.ts';

export type MessengerDeps = Clock & {
  readonly config: MessengerConfig;
  readonly token: string;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly events: Events;
  readonly random: () => number;
};

/** What a client of the platform needs. Its `baseUrl` is null for the platform's own address. */
export type ClientDeps = Pick<MessengerDeps, 'token' | 'http' | 'deadlines' | 'now' | 'steady'> & {
  readonly config: Pick<MessengerConfig, 'baseUrl'>;
};

const downloadMs = 30_000;

type Loaded<T, R extends Refusal> = {
  readonly platform: Platform<T, R>;
  readonly bestEffort: BestEffort<T>;
};

export class MessengerChannel<T, R extends Refusal> implements Messenger {
  readonly reportsSessions = false;
  readonly deliverMsMax?: number;
  readonly #kind: PlatformKind<T>;
  readonly #deps: MessengerDeps;
  /** Null: the token is no token of this platform. */
  readonly #bot: string | null;
  readonly #health: HealthState;
  readonly #menu: CommandMenu;
  readonly #seenMessages = new FirstSeen();
  readonly #typing: Typing;
  readonly #disposed = new AbortController();
  readonly #cleanup: Cleanup;
  readonly #loaded: LoadOnce<Loaded<T, R>>;
  /** The platform that was loaded last. Cleanup needs it even after the channel has ended. */
  #platform: Platform<T, R> | null = null;
  /** Null: the channel ignores edits. */
  readonly #questions: RecentQuestions | null;
  readonly preview?: NonNullable<Messenger['preview']>;
  readonly begun?: NonNullable<Messenger['begun']>;
  readonly webhook?: NonNullable<Messenger['webhook']>;

  /** @param load loads what the platform needs; the channel calls it at `open` or `identify` */
  constructor(
    kind: PlatformKind<T>,
    deps: MessengerDeps,
    load: (deps: MessengerDeps) => Promise<Platform<T, R>>,
  ) {
    const { steady, events, config, token, deadlines } = deps;
    this.#kind = kind;
    this.#deps = deps;
    this.#bot = kind.kind.botOf(token);
    if (kind.deliverMsMax !== undefined) this.deliverMsMax = kind.deliverMsMax;
    this.#questions = config.edits ? new RecentQuestions(steady, config.gatherMs) : null;
    this.#loaded = new LoadOnce(async () => {
      const platform = await load(deps);
      this.#platform = platform;
      return { platform, bestEffort: new BestEffort({ room: platform.room, deadlines, steady }) };
    });
    this.#typing = new Typing(deadlines);
    this.#cleanup = new Cleanup(deadlines, (name) => this.#remove(name));
    const menu = new CommandMenu({
      publish: async (commands, signal) =>
        (await this.#loaded.value?.platform.publishCommands(commands, signal)) ?? notLoaded,
      events,
      steady,
    });
    this.#menu = menu;
    const changed = (state: ChannelState, reason: string | null): void => {
      events.channelChanged({ channel: config.name, state, reason });
      if (state === 'up') menu.up();
    };
    this.#health = new HealthState(deps, changed, () => menu.platformAnswered());
    if (config.streaming) this.preview = (shown) => this.#preview(shown);
    const { repeats } = kind;
    if (config.streaming && repeats !== undefined) {
      this.begun = ({ id, address }) => {
        const target = kind.parseTarget(address);
        return target === null ? null : repeats.unseenName(target, previewKey(id));
      };
    }
    if (kind.hasWebhooks === true) {
      this.webhook = async (signal, deleting) => {
        const unknown = { kind: 'unknown' } as const;
        if (this.#bot === null) return unknown;
        const { platform } = await this.#loaded.get();
        return (await platform.webhook?.(signal, deleting)) ?? unknown;
      };
    }
  }

  async open(): Promise<Opened | Unfit> {
    if (this.#bot === null) {
      const { tokenEnv } = this.#deps.config;
      const remedy = this.#kind.tokenRemedy?.(tokenEnv) ?? '';
      const message = `${this.#kind.malformedToken(tokenEnv)}${remedy}`;
      this.#health.become('failed', message);
      return { kind: 'unfit', message };
    }
    await this.#loaded.get();
    return { kind: 'opened', key: this.#keyOf(this.#bot) };
  }

  #keyOf(bot: string): ChannelKey {
    return channelKeyOf(this.#deps.config, bot);
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    if (this.#bot === null) throw new Error('run() of a channel that is unfit');
    if (signal.aborted) return;
    const { platform, bestEffort } = await this.#loaded.get();
    const key = this.#keyOf(this.#bot);
    const shared = { health: this.#health, questions: this.#questions, bestEffort };
    this.#menu.begin(receive);
    await platform.run({ key, receive, ...shared }, signal).finally(() => this.#menu.pause());
    if (this.#health.health.state !== 'failed') this.#health.become('stopped');
  }

  async deliver(reply: Reply, attempt: Attempt, stop: Stop): Promise<DeliveryOutcome> {
    const kind = this.#kind;
    const target = kind.parseTarget(reply.address);
    if (target === null) {
      const detail = 'its address cannot be read';
      return { kind: 'dead', failure: failure('rejected', { detail }) };
    }
    const { platform } = await this.#loaded.get();
    const { token, random } = this.#deps;
    let name: string | null = null;
    const sent = (one: string): void => void (name = one);
    const deps = { kind, platform, token, random, sent };
    const outgoing = outgoingOf(kind, reply, target);
    const completed = (await platform.complete?.(outgoing, stop.signal)) ?? null;
    if (completed !== null) return plainOutcome(deps, completed, reply);
    const prepared = await withoutUnsure(deps, reply, stop.signal);
    if (prepared.kind !== 'ready') return prepared;
    const revision = revise(this.#questions, prepared.reply, kind.editedQuestion(target));
    const outcome = await deliver(deps, revision.reply, target, attempt, stop.signal);
    if (outcome.kind !== 'delivered') return outcome;
    const removed = revision.delivered(name).map((needless) => this.#cleanup.remove(needless));
    // If the process ends before this is done, the next one repeats the reply. So svc waits only
    // where the platform recognises the repeat.
    if (kind.repeats !== undefined) await Promise.all(removed);
    return outcome;
  }

  /** Tries once. @returns whether another try may help */
  async #remove(name: string): Promise<boolean> {
    const platform = this.#platform;
    if (platform === null) return false;
    const known = this.#kind.names.sureOf(name) ?? name;
    const result = await remove(platform, known);
    return result.kind === 'refused' ? isPassing(result) : result.kind === 'fault';
  }

  #preview(shown: PreviewRequest): Preview {
    const loaded = this.#loaded.value;
    const target = this.#kind.parseTarget(shown.address);
    if (loaded === null || target === null || !this.#kind.showsWork(target)) return noPreview;
    // The former answer stays until the new one is there.
    const edited = this.#kind.editedQuestion(target);
    if (formerAnswer(this.#questions, edited).length > 0) return noPreview;
    const { deadlines, steady } = this.#deps;
    const deps = { kind: this.#kind, ...loaded, cleanup: this.#cleanup, deadlines, steady };
    return new GrowingMessage(new GrowingReply<T>(deps, shown, target));
  }

  async fetch(file: string, bytesMax: number, stop: Stop): Promise<FetchResult> {
    const { http, steady } = this.#deps;
    const { platform } = await this.#loaded.get();
    const located =
      (await platform.locate?.(file, bytesMax, stop.signal)) ?? failedFetch('not_found');
    if (!(located instanceof URL)) return located;
    const result = await http.send(
      {
        method: 'GET',
        url: located,
        headers: {},
        body: null,
        deadlineAt: later(steady(), downloadMs),
        bodyBytesMax: bytesMax,
        asBytes: true,
      },
      stop,
    );
    if (result.kind === 'fault') {
      if (result.fault === 'answer_too_large') return { kind: 'too_large' };
      return failedFetch(result.fault);
    }
    if (result.status !== 200 || result.bytes === undefined) return unfetched(result.status);
    return { kind: 'fetched', bytes: result.bytes };
  }

  split(text: string): readonly ReplyPart[] {
    // If rendered text is longer than its Markdown and too long, the Markdown is sent as it is.
    const { textUnitsMax: unitsMax, codeCharactersMax } = this.#kind;
    const unitsOf = (one: string): number => one.length;
    return splitReply(text, { unitsMax, unitsOf, fences: true, codeCharactersMax });
  }

  plain({ text, file }: ReplyPart): string {
    const platform = this.#loaded.value?.platform;
    return file === undefined ? (platform?.plain?.(text) ?? text) : text;
  }

  showWorking(address: Address, signal: AbortSignal): void {
    const loaded = this.#loaded.value;
    const target = this.#kind.parseTarget(address);
    if (loaded === null || target === null || !this.#kind.showsWork(target)) return;
    const { platform, bestEffort } = loaded;
    const { signal: disposed } = this.#disposed;
    const type = async (ending: AbortSignal): Promise<boolean> => {
      const call = () => platform.showTyping(target, ending);
      const result = await bestEffort.offer('typing', target, call, ending);
      if (result?.kind !== 'refused' || result.unasked === true) return true;
      return isPassing(result) && !(result.status === 429 && platform.room.isOfPlaces === true);
    };
    this.#typing.begin(address.target, this.#kind.typingEveryMs, type, signal);
    if (!this.#kind.isAcknowledged(target) || !this.#seenMessages.isFirst(address.target)) return;
    const react = () => platform.react(target, disposed);
    void bestEffort.offer('reaction', target, react, disposed);
  }

  publishCommands(offered: OfferedCommands): void {
    this.#menu.offer(offered);
  }

  health(): ChannelHealth {
    const { silence } = this.#kind;
    const { health, silentMs } = this.#health;
    // A poll can hang for ever, so its end is what counts.
    if (silence !== null && health.state === 'up' && silentMs > silence.ms) {
      this.#health.become('degraded', silence.reason(Math.round(silentMs / 1_000)));
    }
    return this.#health.health;
  }

  sameAs(other: Channel): boolean {
    if (!(other instanceof MessengerChannel)) return false;
    const ours = identityOf(this.#deps);
    const theirs = identityOf(other.#deps);
    return ours.length === theirs.length && ours.every((one, at) => one === theirs[at]);
  }

  async direct(user: string, signal: AbortSignal): ReturnType<NonNullable<Messenger['direct']>> {
    if (this.#bot === null) return null;
    const { platform } = await this.#loaded.get();
    const chat = await platform.direct?.(user, signal);
    if (chat == null) return null;
    const address = { channel: this.#keyOf(this.#bot), target: chat.target };
    return { conversation: chat.conversation, address };
  }

  async identify(signal: AbortSignal): Promise<Identity> {
    const message = this.#kind.malformedToken(this.#deps.config.tokenEnv);
    if (this.#bot === null) return { kind: 'refused', message };
    return (await this.#loaded.get()).platform.identify(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#menu.end();
    this.#disposed.abort();
    // A platform that is still loading has no open connection to wait for.
    void this.#loaded.release().then((loaded) => loaded?.platform.close?.());
  }
}

/** Whether the platform may do later what it refused now. */
function isPassing({ status }: Refusal): boolean {
  return status === 429 || status >= 500;
}

const notLoaded = { kind: 'away', retryAfterMs: null } as const;

/** What a connection is made from: with other values the channel connects anew. */
function identityOf({ token, config }: MessengerDeps): readonly unknown[] {
  const { name, type, tokenEnv, baseUrl, streaming, gatherMs, edits, access } = config;
  const groups = kindOf(type).groupsAtConnect ? (access?.groups ?? 'mention') : null;
  return [name, type, token, tokenEnv, baseUrl, streaming, gatherMs, edits, groups];
}

/** The result of a download that the server refused. */
export function unfetched(status: number): FetchResult {
  if (status === 401 || status === 403) return failedFetch('unauthorized', { status });
  if (status === 429) return failedFetch('rate_limited', { status });
  return failedFetch(status >= 500 ? 'server_error' : 'not_found', { status });
}

export function failedFetch(...facts: Parameters<typeof failure>): FetchResult {
  return { kind: 'failed', failure: failure(...facts) };
}
