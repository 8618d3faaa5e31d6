/**
 * A fake of Discord: REST under `/api/v10`, the gateway on the same port, and a driver that plays
 * the people. Pages: https://discord.com/developers/docs/reference and those named in the files of
 * `discord/`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { freePort } from '../support/program.ts';
import { sendAnswer, type HttpAnswer } from './breakage.ts';
import { Cdn } from './discord/cdn.ts';
import { contentOf } from './discord/body.ts';
import { answerBadly, httpOf, type DiscordFault } from './discord/faults.ts';
import { Gateway, type GatewayOptions } from './discord/gateway.ts';
import { Guilds, eventOf, withoutContent, type ChannelState, type More } from './discord/guilds.ts';
import { pressOn, type Interaction } from './discord/interactions.ts';
import { RateLimits, type Limit, type Limited } from './discord/rate-limits.ts';
import {
  answerRest,
  failed,
  routeOf,
  type Reaction,
  type RestHost,
  type RestRequest,
  type Sent,
  type Typing,
} from './discord/rest.ts';
import { SlashCommands } from './discord/slash-commands.ts';
import {
  intent,
  type Channel,
  type ErrorName,
  type Guild,
  type Message,
  type User,
} from './discord/wire.ts';
import { untilUnconnected } from './unconnected.ts';
import { Watch } from './watch.ts';

export type DiscordOptions = Partial<GatewayOptions> & {
  readonly token?: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Requests of one route in one channel. The platform's own numbers change. */
  readonly routeLimit?: Limit;
  /** "All bots can make up to 50 requests per second." */
  readonly globalLimit?: Limit;
};

export type DiscordCall = RestRequest & {
  readonly route: string;
  readonly at: number;
  /** A planned fault spoiled this request. */
  readonly isSpoiled: boolean;
};

export async function startFakeDiscord(options: DiscordOptions = {}): Promise<FakeDiscord> {
  const fake = new FakeDiscord(options);
  await fake.listen();
  return fake;
}

export class FakeDiscord implements AsyncDisposable {
  token: string;
  readonly bot: User;
  readonly calls: DiscordCall[] = [];
  /** The messages that the bot sent, in order. */
  readonly sent: Sent[] = [];
  readonly typing: Typing[] = [];
  readonly limits: RateLimits;
  /** The presses of people, in order. */
  readonly interactions: Interaction[] = [];
  readonly slash: SlashCommands;
  readonly reactions: Reaction[] = [];
  readonly gateway: Gateway;
  readonly #guilds: Guilds;
  readonly #watch = new Watch();
  readonly #cdn = new Cdn(() => this.#watch.changed());
  readonly downloads = this.#cdn.downloads;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #planned: { route: string; fault: DiscordFault; left: number }[] = [];
  readonly #options: DiscordOptions & GatewayOptions;
  readonly #now: () => number;
  #port = 0;

  constructor(options: DiscordOptions) {
    this.#options = {
      heartbeatMs: 41_250,
      sessionStarts: 1_000,
      sessionMs: 180_000,
      identifyGapMs: 5_000,
      allowedIntents: intent.messageContent,
      ...options,
    };
    this.#now = options.now ?? Date.now;
    this.token = options.token ?? 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs';
    this.#guilds = new Guilds(this.#now);
    this.limits = new RateLimits(this.#now);
    this.bot = this.#guilds.user('svc', true);
    this.slash = new SlashCommands(this.#guilds, this.#now, this.bot);
    this.gateway = new Gateway({
      options: this.#options,
      now: this.#now,
      bot: this.bot,
      isToken: (token) => token === this.token,
      resetToken: () => void (this.token = 'a-new-token-that-the-owner-got-by-mail'),
      resumeUrl: () => `ws://127.0.0.1:${this.#port}/resume`,
      guilds: () =>
        [...this.#guilds.guilds.values()].map((guild) => {
          return { id: guild.id, created: this.#guilds.created(guild, this.bot) };
        }),
      changed: () => this.#watch.changed(),
    });
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
    // Keeps a delayed client from meeting a connection that the server is just closing.
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('upgrade', (request, socket: Socket, head) => {
      this.#upgrade(request, socket, head);
    });
  }

  /** The value for `base_url`: clients add `/v10`. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/api`;
  }

  async listen(): Promise<void> {
    // Keeps the port reserved while the server is away.
    this.#port ||= await freePort();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Goes away: its connections end, and it refuses new ones until `listen`. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.gateway.drop();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Resolves once nobody is connected: the fake has read all that an ended process sent. */
  readonly unconnected = (): Promise<void> => untilUnconnected(this.#server);

  async [Symbol.asyncDispose](): Promise<void> {
    this.gateway.close();
    this.#watch.close();
    await this.close();
  }

  user(name: string, bot = false): User {
    return this.#guilds.user(name, bot);
  }

  /** A guild with the bot in it; open sessions receive its event. */
  guild(name: string): Guild {
    const guild = this.#guilds.guild(name);
    const created = this.#guilds.created(guild, this.bot);
    this.gateway.dispatch('GUILD_CREATE', intent.guilds, () => created);
    return guild;
  }

  textChannel(guild: Guild, name: string): Channel {
    return this.#announce(this.#guilds.textChannel(guild, name), 'CHANNEL_CREATE');
  }

  thread(parent: Channel, name: string): Channel {
    return this.#announce(this.#guilds.thread(parent, name), 'THREAD_CREATE');
  }

  /** The channel of direct messages with this person. */
  direct(user: User): Channel {
    return this.#guilds.direct(user);
  }

  /** Somebody writes: `more.author`, or in direct messages the other person. */
  say(channel: Channel, content: string, more: More = {}): Message {
    const state = this.#state(channel);
    const author = more.author ?? channel.recipients?.[0] ?? this.#guilds.user('Stranger');
    const message = this.#guilds.write(state, author, content, more);
    this.#tell('MESSAGE_CREATE', state, message);
    return message;
  }

  edit(channel: Channel, message: Message, content: string): Message {
    const state = this.#state(channel);
    const edited_timestamp = new Date(this.#now()).toISOString();
    const edited = { ...message, content, edited_timestamp };
    state.messages.splice(state.messages.indexOf(message), 1, edited);
    this.#tell('MESSAGE_UPDATE', state, edited);
    return edited;
  }

  /** From now on the message counts as a system message, to which nobody can reply. */
  makeSystem(message: Message): void {
    this.#edit(message, { type: 21 });
  }

  /** A person presses a button of the message that they see. Interactions need no intent. */
  press(from: User, message: Message, label: string): Interaction {
    const id = this.#guilds.nextId();
    const { channel } = this.#guilds.channels.get(message.channel_id)!;
    const token = `aW50ZXJhY3Rpb24${id}`;
    const pressed = { id, token, from, message };
    const event = pressOn(pressed, label, channel, this.bot.id);
    const interaction: Interaction = { ...pressed, at: this.#now(), answer: null };
    this.interactions.push(interaction);
    this.gateway.dispatch('INTERACTION_CREATE', 0, () => event);
    return interaction;
  }

  /** A person chooses a registered slash command. */
  choose(from: User, channel: Channel, name: string, text?: string): void {
    const event = this.slash.choose(from, channel, name, text);
    this.gateway.dispatch('INTERACTION_CREATE', 0, () => event);
  }

  /** The message as its channel has it now. */
  shown({ channel_id, id }: Message): Message | undefined {
    return this.#guilds.channels.get(channel_id)?.messages.find((one) => one.id === id);
  }

  /** All messages in a channel now, by any author, oldest first. */
  standing(channel: Channel): readonly Message[] {
    return this.#state(channel).messages;
  }

  #edit(before: Message, fields: Partial<Message>): Message {
    const state = this.#guilds.channels.get(before.channel_id)!;
    const at = state.messages.findIndex(({ id }) => id === before.id);
    const edited = { ...state.messages[at]!, ...fields } as Message;
    state.messages.splice(at, 1, edited);
    this.#tell('MESSAGE_UPDATE', state, edited);
    return edited;
  }

  remove(channel: Channel, message: Message): void {
    const state = this.#state(channel);
    state.messages.splice(state.messages.indexOf(message), 1);
    const { id, channel_id } = message;
    const { guild_id } = channel;
    const gone = { id, channel_id, ...(guild_id !== undefined && { guild_id }) };
    this.gateway.dispatch('MESSAGE_DELETE', intentOf(channel), () => gone);
  }

  /** Refuses requests about this channel from now on; null: no longer. */
  refuse(channel: Channel, refusal: ErrorName | null): void {
    this.#state(channel).refusal = refusal;
  }

  /** Takes “Read Message History” from the bot there. */
  hideHistory(channel: Channel): void {
    this.#state(channel).readsHistory = false;
  }

  /** The next `times` requests of this route (`POST /channels/:id/messages`, `*`) fail so. */
  fail(route: string, fault: DiscordFault, times = 1): void {
    this.#planned.push({ route, fault, left: times });
  }

  heal(): void {
    this.#planned.length = 0;
  }

  /** Waits until the bot has sent n messages. */
  waitForSent(n: number): Promise<readonly Sent[]> {
    return this.until(() => (this.sent.length >= n ? this.sent : undefined), `${n} messages`);
  }

  /** Waits until a session is open and has received READY. */
  async waitForReady(): Promise<void> {
    await this.until(() => this.gateway.isReady || undefined, 'a session');
  }

  until<T>(find: () => T | undefined, what: string, boundMs?: number): Promise<T> {
    return this.#watch.until(find, what, boundMs);
  }

  #state(channel: Channel): ChannelState {
    const state = this.#guilds.channels.get(channel.id);
    if (state === undefined) throw new Error(`There is no channel ${channel.id}: make it first.`);
    return state;
  }

  #announce(channel: Channel, event: string): Channel {
    this.gateway.dispatch(event, intent.guilds, () => channel);
    return channel;
  }

  #tell(event: string, { channel }: ChannelState, message: Message): void {
    this.gateway.dispatch(event, intentOf(channel), (intents) => {
      const hasContent = (intents & intent.messageContent) !== 0;
      const shown = hasContent ? message : withoutContent(message, channel, this.bot);
      return eventOf(shown, channel);
    });
    this.#watch.changed();
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const fault = this.gateway.nextFault();
    if (fault?.kind === 'refuse') {
      socket.end(`HTTP/1.1 ${fault.status} Unavailable\r\nconnection: close\r\n\r\n`);
      return;
    }
    const url = new URL(request.url ?? '/', 'ws://fake');
    const port = socket.remotePort ?? 0;
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      this.gateway.accept(client, url, port, fault);
    });
  }

  /** Stores a file, and returns its attachment fields. */
  storeFile(filename: string, type: string, bytes: Uint8Array): Readonly<Record<string, unknown>> {
    return this.#cdn.store(this.#guilds.nextId(), this.#port, { filename, type, bytes });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const url = new URL(request.url ?? '/', 'http://fake');
    if (Cdn.has(url)) return this.#cdn.answer(request, url, response);
    const rest: RestRequest = {
      method: request.method ?? 'GET',
      path: url.pathname.replace(/^\/api(\/v10)?/, ''),
      query: url.searchParams,
      ...(await contentOf(Buffer.concat(parts), request.headers['content-type'])),
    };
    const route = routeOf(rest);
    const fault = this.#nextFault(route);
    this.calls.push({ ...rest, route, at: this.#now(), isSpoiled: fault !== undefined });
    // A press has its own token for its answer.
    const isAnswer = route.endsWith('/:token/callback');
    const known = isAnswer || request.headers.authorization === `Bot ${this.token}`;
    if (fault === undefined) sendAnswer(this.#answer(rest, route, known), response);
    else answerBadly(fault, () => this.#answer(rest, route, true), response);
    this.#watch.changed();
  }

  #answer(rest: RestRequest, route: string, known: boolean): HttpAnswer {
    if (!known) return httpOf(failed('unauthorized'));
    const { routeLimit, globalLimit } = this.#options;
    const whole = globalLimit ?? { requests: 50, windowMs: 1_000 };
    const all = this.limits.count('*', '', whole, 'global');
    if (isLimited(all)) return httpOf(all, all.headers);
    const limit = routeLimit ?? { requests: 1_000, windowMs: 1_000 };
    const [, , major = ''] = rest.path.split('/');
    const headers = this.limits.count(route, major, limit, 'user');
    if (isLimited(headers)) return httpOf(headers, headers.headers);
    return httpOf(answerRest(this.#restHost(), rest), headers);
  }

  #nextFault(route: string): DiscordFault | undefined {
    const planned = this.#planned.find((one) => one.route === route || one.route === '*');
    if (planned === undefined) return undefined;
    if (--planned.left <= 0) this.#planned.splice(this.#planned.indexOf(planned), 1);
    return planned.fault;
  }

  #restHost(): RestHost {
    const { bot, sent, typing, interactions, slash, reactions, gateway } = this;
    const now = this.#now;
    const guilds = this.#guilds;
    const port = this.#port;
    const session_start_limit = {
      total: this.#options.sessionStarts,
      remaining: Math.max(gateway.startsLeft, 0),
      reset_after: 14_400_000,
      max_concurrency: 1,
    };
    return {
      bot,
      now,
      guilds,
      sent,
      typing,
      interactions,
      slash,
      reactions,
      gateway: () => ({ url: `ws://127.0.0.1:${port}`, shards: 1, session_start_limit }),
      arrived: (state, message) => this.#tell('MESSAGE_CREATE', state, message),
      edit: (message, fields) => this.#edit(message, fields),
      remove: (message) =>
        this.remove(this.#guilds.channels.get(message.channel_id)!.channel, message),
    };
  }
}

const intentOf = ({ type }: Channel): number =>
  type === 1 ? intent.directMessages : intent.guildMessages;

const isLimited = (counted: Record<string, string> | Limited): counted is Limited =>
  'body' in counted;
