/**
 * The Discord channel (`messenger_b`): messages arrive over the gateway, replies go out over REST.
 *
 * svc loads both libraries on demand, so a service without this channel pays nothing for them.
 */
import type { AccessConfig } from '../../config/config.ts';
import type { MessengerConfig } from '../registry.ts';
import type { ChannelState, Events } from '../../domain/event.ts';
import { failure } from '../../domain/failure.ts';
import { channelKeyOf, type ConversationId } from '../../domain/ids.ts';
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
} from '../channel.ts';
import { splitReply } from '../messenger/code-files.ts';
import { CommandMenu } from '../messenger/command-menu.ts';
import { FirstSeen, RecentQuestions, formerAnswer, revise } from '../messenger/recent-questions.ts';
import { noPreview, Cleanup } from '../messenger/growing-message.ts';
import { BackoffWindows } from '../messenger/low-priority-queue.ts';
import { createApi, type Api } from './api.ts';
import { gatewayLimits, runGateway, type GatewayLimits } from './gateway.ts';
import { Deferrals } from './deferrals.ts';
import { fetchFile } from './fetching.ts';
import { discord } from './kind.ts';
import { deliver, outcomeOf } from './outbound.ts';
import { beginPreview, previewName } from './previews.ts';
import { remove, withoutUnsure } from './place-reply.ts';
import { showEyes } from './reaction.ts';
import { tokenMalformed, tokenRefused } from './refusals.ts';
import { publishCommands } from './slash-commands.ts';
import { Typing } from './typing.ts';
import { fieldsOf, idOf } from './fields.ts';
import { parseSelf, parseTarget, textUnitsMax } from './wire.ts';

export type DiscordDeps = Clock & {
  readonly config: MessengerConfig;
  readonly token: string;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly events: Events;
  readonly random: () => number;
  /** Shorter limits for tests; `gatewayLimits` gives the others. */
  readonly limits?: Partial<GatewayLimits>;
};

const cutting = {
  unitsMax: textUnitsMax,
  unitsOf: (text: string) => text.length,
  fences: true,
  codeCharactersMax: 1_500,
};

/** Makes the channel; it loads and asks nothing before `open` or `identify`. */
export function createDiscordChannel(deps: DiscordDeps): Messenger {
  return new Discord(deps);
}

class Discord implements Messenger {
  readonly reportsSessions = false;
  readonly #deps: DiscordDeps;
  readonly #health: HealthState;
  readonly #typing = new Typing();
  readonly #seenMessages = new FirstSeen();
  readonly #backoff: BackoffWindows<'reaction'>;
  readonly #deferrals = new Deferrals();
  readonly #menu: CommandMenu;
  readonly #self: string | null;
  readonly #api: LoadOnce<Api>;
  readonly #cleanup: Cleanup;
  /** Null: the channel ignores edits. */
  readonly #questions: RecentQuestions | null;
  readonly preview?: NonNullable<Messenger['preview']>;
  readonly begun?: NonNullable<Messenger['begun']>;

  constructor(deps: DiscordDeps) {
    const { config, deadlines, events, http, now, steady, token } = deps;
    this.#deps = deps;
    this.#backoff = new BackoffWindows(steady);
    this.#questions = config.edits ? new RecentQuestions(steady, config.gatherMs) : null;
    if (config.streaming) {
      this.preview = (shown) => this.#preview(shown);
      this.begun = previewName;
    }
    const { baseUrl } = config;
    this.#api = new LoadOnce(() => createApi({ token, baseUrl, http, deadlines, now, steady }));
    this.#cleanup = new Cleanup(deadlines, async (message) =>
      this.#api.value === null ? false : remove(this.#api.value, message),
    );
    this.#self = discord.botOf(token);
    const menu = new CommandMenu({
      publish: (offered, signal) => publishCommands(this.#api.value, offered, signal),
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
    if (this.#self === null) {
      const message = tokenMalformed(this.#deps.config.tokenEnv);
      this.#health.become('failed', message);
      return { kind: 'unfit', message };
    }
    await this.#api.get();
    return { kind: 'opened', key: channelKeyOf(discord.type, this.#self) };
  }

  async run(receive: Receive, signal: AbortSignal): Promise<void> {
    const { config, token, events, now, steady, random, limits } = this.#deps;
    const self = this.#self;
    if (self === null) throw new Error('run() of a channel that is unfit');
    if (signal.aborted) return;
    const gateway = {
      key: channelKeyOf(discord.type, self),
      self,
      token,
      events,
      now,
      steady,
      random,
      tokenName: config.tokenEnv,
      groups: groupsOf(config),
      questions: this.#questions,
      api: await this.#api.get(),
      health: this.#health,
      deferrals: this.#deferrals,
      limits: { ...gatewayLimits, ...limits },
    };
    await runGateway(gateway, receive, signal);
    this.#health.become('stopped');
  }

  async deliver(reply: Reply, attempt: Attempt, stop: Stop): Promise<DeliveryOutcome> {
    const target = parseTarget(reply.address.target);
    if (target === null) return { kind: 'dead', failure: failure('rejected') };
    this.#typing.end(target.place);
    const api = await this.#api.get();
    const { token } = this.#deps;
    const completed = await this.#deferrals.complete(api, reply, target, token, stop.signal);
    if (completed !== null) return completed;
    const prepared = await withoutUnsure(api, reply);
    if (prepared.kind !== 'ready') return outcomeOf(prepared, token, reply);
    const revision = revise(this.#questions, prepared.reply, target.edits ?? null);
    let message: string | null = null;
    const deps = { api, token, sent: (one: string) => void (message = one) };
    const outcome = await deliver(deps, revision.reply, target, attempt, stop.signal);
    if (outcome.kind !== 'delivered') return outcome;
    // If the process ends before this is done, the next one repeats it. The reply's nonce prevents
    // a second message.
    const needless = revision.delivered(message).map((one) => this.#cleanup.remove(one));
    if (needless.length > 0) await Promise.all(needless);
    return outcome;
  }

  async fetch(file: string, bytesMax: number, stop: Stop): Promise<FetchResult> {
    const { config, http, steady } = this.#deps;
    const deps = { api: await this.#api.get(), baseUrl: config.baseUrl, http, steady };
    return fetchFile(deps, file, bytesMax, stop);
  }

  #preview(shown: PreviewRequest): Preview {
    const api = this.#api.value;
    if (api === null) return noPreview;
    const { deadlines, steady } = this.#deps;
    const { edits, deferred } = parseTarget(shown.address.target) ?? {};
    // The reply itself completes a deferred response.
    if (deferred !== undefined) return noPreview;
    // The former answer stays until the new one is there.
    if (formerAnswer(this.#questions, edits ?? null).length > 0) return noPreview;
    const deps = { api, cleanup: this.#cleanup, deadlines, steady };
    return beginPreview(deps, shown) ?? noPreview;
  }

  split(text: string): readonly ReplyPart[] {
    return splitReply(text, cutting);
  }

  showWorking(address: Address, signal: AbortSignal): void {
    const target = parseTarget(address.target);
    const api = this.#api.value;
    // A deferred response already shows that svc works on it.
    if (target === null || api === null || target.deferred !== undefined) return;
    this.#typing.begin(api, target.place, signal);
    const { deadlines } = this.#deps;
    void showEyes({ api, known: this.#seenMessages, backoff: this.#backoff, deadlines }, target);
  }

  publishCommands(offered: OfferedCommands): void {
    this.#menu.offer(offered);
  }

  health(): ChannelHealth {
    return this.#health.health;
  }

  sameAs(other: Channel): boolean {
    if (!(other instanceof Discord)) return false;
    const ours = this.#deps;
    const theirs = other.#deps;
    return (
      ours.token === theirs.token &&
      ours.config.baseUrl === theirs.config.baseUrl &&
      ours.config.streaming === theirs.config.streaming &&
      ours.config.gatherMs === theirs.config.gatherMs &&
      ours.config.edits === theirs.config.edits &&
      groupsOf(ours.config) === groupsOf(theirs.config)
    );
  }

  /** The platform makes the chat, or answers with the existing one. */
  async direct(user: string, signal: AbortSignal): ReturnType<NonNullable<Messenger['direct']>> {
    if (this.#self === null || idOf(user) === null) return null;
    const api = await this.#api.get();
    const made = await api.post('/users/@me/channels', { recipient_id: user }, signal);
    const place = made.kind === 'ok' ? idOf(fieldsOf(made.body)['id']) : null;
    if (place === null) return null;
    const channel = channelKeyOf(discord.type, this.#self);
    return { conversation: place as ConversationId, address: { channel, target: place } };
  }

  async identify(signal: AbortSignal): Promise<Identity> {
    const { tokenEnv } = this.#deps.config;
    if (this.#self === null) return { kind: 'refused', message: tokenMalformed(tokenEnv) };
    const answer = await (await this.#api.get()).get('/users/@me', signal);
    if (answer.kind === 'fault') {
      return { kind: 'unreached', message: `Discord could not be reached (${answer.fault})` };
    }
    if (answer.kind === 'refused') {
      const { status } = answer;
      if (status === 401) return { kind: 'refused', message: tokenRefused(tokenEnv) };
      return { kind: 'unreached', message: `Discord answered ${status}` };
    }
    const self = parseSelf(answer.body);
    if (self !== null) return { kind: 'known', ...self };
    return { kind: 'unreached', message: 'what answered is not Discord; look at base_url' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#typing.endAll();
    this.#menu.end();
    // An API that is still loading has no open connection to wait for.
    void this.#api.release().then((api) => api?.close());
  }
}

function groupsOf({ access }: MessengerConfig): AccessConfig['groups'] {
  return access?.groups ?? 'mention';
}
