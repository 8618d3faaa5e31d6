/**
 * A fake of the Telegram Bot API: a real HTTP server, and a driver that plays the people. Page:
 * https://core.telegram.org/bots/api#making-requests. Requests are GET or POST to
 * `/bot<token>/<method>`. Parameters come in the query, as a form, with files, or as JSON. The
 * files in `telegram/` name the sources of each part.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePort } from '../support/program.ts';
import {
  Chats,
  authorIn,
  entitiesIn,
  isForBot,
  type ChatState,
  type More,
} from './telegram/chats.ts';
import { CommandList, type Reaction } from './telegram/commands.ts';
import { Drafts, type Draft, type DraftsFor } from './telegram/drafts.ts';
import { takesEffect } from './breakage.ts';
import { Downloads } from './downloads.ts';
import { answerBadly, send, type Fault } from './telegram/faults.ts';
import { sendFile } from './telegram/files.ts';
import {
  callMethod,
  type Sent,
  type StoredFile,
  type Typing,
  type World,
} from './telegram/methods.ts';
import { pressOn, type Press } from './telegram/presses.ts';
import { RateLimits } from './telegram/rate-limits.ts';
import { UpdateQueue, readParams } from './telegram/update-queue.ts';
import {
  badRequest,
  refuse,
  type Chat,
  type Message,
  type TelegramCall,
  type User,
} from './telegram/wire.ts';
import { untilUnconnected } from './unconnected.ts';
import { Watch } from './watch.ts';

export type TelegramOptions = {
  readonly token?: string;
  readonly username?: string;
  /** False: privacy mode, in which the bot does not receive most messages of a group. */
  readonly readsAllGroupMessages?: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly random?: () => number;
  /** The milliseconds in a second of Telegram's own waits; by default 1,000. */
  readonly secondMs?: number;
  /** Whether it enforces its rate limits. */
  readonly limited?: boolean;
  /** The chats in which it allows drafts; a server of today allows everyone. */
  readonly draftsFor?: DraftsFor;
};

export async function startFakeTelegram(options: TelegramOptions = {}): Promise<FakeTelegram> {
  const fake = new FakeTelegram(options);
  await fake.listen();
  return fake;
}

export class FakeTelegram implements AsyncDisposable {
  readonly token: string;
  readonly bot: User;
  readonly calls: TelegramCall[] = [];
  readonly limits: RateLimits | null;
  /** The commands that people see, and the bot's reactions. */
  readonly commands = new CommandList();
  readonly reactions: Reaction[] = [];
  /** TCP connections ever opened. */
  connections = 0;
  /** Called and awaited for every call, before anything else. */
  onCall: ((call: TelegramCall) => Promise<void>) | null = null;
  readonly #world: World;
  readonly #watch = new Watch();
  readonly downloads = new Downloads(() => this.#watch.changed());
  readonly #server: Server;
  readonly #planned: { method: string; fault: Fault; left: number }[] = [];
  readonly #now: () => number;
  #port = 0;
  #revoked = false;

  constructor(options: TelegramOptions) {
    const { secondMs = 1_000, readsAllGroupMessages = true, username = 'svc_test_bot' } = options;
    this.#now = options.now ?? Date.now;
    this.limits = options.limited === true ? new RateLimits(this.#now) : null;
    const random = options.random ?? (() => 0.25);
    this.token = options.token ?? '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0';
    const id = Number(this.token.split(':')[0]);
    this.bot = { id, is_bot: true, first_name: 'Svc', username };
    this.#world = {
      bot: this.bot,
      readsAllGroupMessages,
      now: this.#now,
      queue: new UpdateQueue({ now: this.#now, random, secondMs }),
      chats: new Chats(this.#now),
      sent: [],
      typing: [],
      presses: [],
      files: new Map(),
      commands: this.commands,
      reactions: this.reactions,
      drafts: new Drafts(options.draftsFor ?? 'everyone', this.#now),
    };
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', () => this.connections++);
  }

  /** The value for `base_url`. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The messages that the bot sent, in order. */
  get sent(): readonly Sent[] {
    return this.#world.sent;
  }

  /** Every draft that the bot has shown, in order. */
  get drafts(): readonly Draft[] {
    return this.#world.drafts.written;
  }

  get typing(): readonly Typing[] {
    return this.#world.typing;
  }

  /** The presses of people, in order. */
  get presses(): readonly Press[] {
    return this.#world.presses;
  }

  /** The update_ids that the bot has confirmed, in order. */
  get confirmed(): readonly number[] {
    return this.#world.queue.confirmed;
  }

  /** The number of unconfirmed updates. */
  get pending(): number {
    return this.#world.queue.pending;
  }

  /** Whether a long poll is open. */
  get isPolled(): boolean {
    return this.#world.queue.isPolled;
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
    this.#server.closeAllConnections();
    await closed;
  }

  /** Resolves once nobody is connected: the fake has read all that an ended process sent. */
  unconnected(): Promise<void> {
    return untilUnconnected(this.#server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#world.queue.close();
    this.#watch.close();
    await this.close();
  }

  person(name: string, more?: Partial<User>): User {
    return this.#world.chats.person(name, more);
  }

  privateChat(person: User): Chat {
    return this.#world.chats.privateWith(person);
  }

  group(title: string): Chat {
    return this.#world.chats.group(title);
  }

  supergroup(title: string): Chat {
    return this.#world.chats.supergroup(title);
  }

  forum(title: string): Chat {
    return this.#world.chats.supergroup(title, true);
  }

  directMessages(title: string): Chat {
    return this.#world.chats.directMessages(title);
  }

  channel(title: string): Chat {
    return this.#world.chats.channel(title);
  }

  /** A person writes: in a private chat its person, in a group `more.from` or a stranger. */
  say(chat: Chat, text: string, more: More = {}): Message {
    const state = this.#state(chat);
    const entities = more.entities ?? entitiesIn(text);
    const content = { text, ...(entities.length > 0 && { entities }) };
    return this.#arrive(state, authorIn(chat, more), more, content);
  }

  /** One poll delivers all messages, presses and edits of `act`. */
  together<T>(act: () => T): T {
    return this.#world.queue.together(act);
  }

  /** A photo, a voice message, a sticker: `content` holds the platform's own fields. */
  post(chat: Chat, content: Readonly<Record<string, unknown>>, more: More = {}): Message {
    return this.#arrive(this.#state(chat), authorIn(chat, more), more, content);
  }

  /** A person presses a button of the message that they see; the bot gets its present state. */
  press(person: User, seen: Message, label: string): Press {
    const { chats, presses, queue } = this.#world;
    const { press, query } = pressOn(seen, label, person, this.#now());
    const message = chats.get(seen.chat.id)?.messages.get(seen.message_id) ?? seen;
    presses.push(press);
    queue.add('callback_query', { ...query, message });
    this.#watch.changed();
    return press;
  }

  /** The message as its chat has it now. */
  shown({ chat, message_id }: Message): Message | undefined {
    return this.#state(chat).messages.get(message_id);
  }

  /** The unfinished message that a person sees there. */
  draftIn(chat: Chat): Draft | undefined {
    return this.#world.drafts.in(chat.id);
  }

  /** A message gets a new text: an `edited_message`, or in a channel an `edited_channel_post`. */
  edit(chat: Chat, messageId: number, text: string): Message {
    const state = this.#state(chat);
    const before = state.messages.get(messageId);
    if (before === undefined) throw new Error(`There is no message ${messageId} to edit.`);
    const edit_date = Math.floor(this.#now() / 1_000);
    const message = { ...before, text, entities: entitiesIn(text), edit_date };
    state.messages.set(messageId, message);
    const type = chat.type === 'channel' ? 'edited_channel_post' : 'edited_message';
    this.#world.queue.add(type, message);
    return message;
  }

  /** Somebody deletes a message; the bot receives no update. */
  remove({ chat, message_id }: Message): void {
    this.#state(chat).messages.delete(message_id);
  }

  /** Opens a topic in a forum, made by `from` (by default the bot itself). @returns its id */
  openTopic(chat: Chat, name: string, from?: User): number {
    const content = { forum_topic_created: { name, icon_color: 7_322_096 } };
    const state = this.#state(chat);
    const message = this.#arrive(state, from ?? authorIn(chat, {}), {}, content);
    const { message_id: id } = message;
    const own = { ...message, message_thread_id: id, is_topic_message: true as const };
    state.messages.set(id, own);
    state.topics.set(id, name);
    return id;
  }

  /** @param isRemembered the server finds out only when a message is sent there */
  deleteTopic(chat: Chat, topic: number, isRemembered = false): void {
    const { topics, deletedTopics } = this.#state(chat);
    topics.delete(topic);
    if (isRemembered) deletedTopics.add(topic);
  }

  /** The person blocks the bot, or admits it again. */
  block(chat: Chat, blocked = true): void {
    this.#state(chat).blocked = blocked;
  }

  /** Removes the bot from a group, with a `my_chat_member` update. */
  kick(chat: Chat): void {
    this.#state(chat).kicked = true;
    const from = authorIn(chat, {});
    const [old_chat_member, new_chat_member] = ['member', 'kicked'].map((status) => ({
      user: this.bot,
      status,
    }));
    const date = Math.floor(this.#now() / 1_000);
    this.#world.queue.add('my_chat_member', { chat, from, date, old_chat_member, new_chat_member });
  }

  /** Turns a basic group into a supergroup, with both service messages. @returns the new chat */
  migrate(chat: Chat): Chat {
    const old = this.#state(chat);
    const next = this.supergroup(chat.title ?? '');
    const from = authorIn(chat, {});
    this.#arrive(old, from, {}, { migrate_to_chat_id: next.id });
    this.#arrive(this.#state(next), from, {}, { migrate_from_chat_id: chat.id });
    old.migratedTo = next.id;
    return next;
  }

  /** Adds an update of any type. @returns its update_id; null: the bot did not ask for this type */
  push(type: string, value: object): number | null {
    const id = this.#world.queue.add(type, value);
    this.#watch.changed();
    return id;
  }

  /** The numbers of updates start anew, as after a week without any. */
  restartUpdateIds(from?: number): void {
    this.#world.queue.restartIds(from);
  }

  /** Somebody has set a webhook for this bot: polls are conflicts until deleteWebhook. */
  setWebhook(url: string): void {
    this.#world.queue.setWebhook(url);
  }

  /** The token is no longer valid: 401. */
  revokeToken(): void {
    this.#revoked = true;
  }

  /** Stores a file at its path for messages, replacing an earlier one. @returns its file_id */
  storeFile(path: string, bytes: Buffer): string {
    const id = `AgACAgIAAxkBAAI${this.#world.files.size + 1}`;
    const file: StoredFile = { path, bytes };
    this.#world.files.set(id, file);
    return id;
  }

  /** The next `times` calls of this method (`*`: of any) get this fault. */
  fail(method: string, fault: Fault, times = 1): void {
    this.#planned.push({ method: method.toLowerCase(), fault, left: times });
  }

  /** Drops all planned faults. */
  heal(): void {
    this.#planned.length = 0;
  }

  /** Waits until the bot has sent n messages. */
  waitForSent(n: number): Promise<readonly Sent[]> {
    return this.until(() => (this.sent.length >= n ? this.sent : undefined), `${n} messages`);
  }

  /** Waits for call number `index` of this method, from 0. */
  waitForCall(method: string, index = 0): Promise<TelegramCall> {
    const of = (): TelegramCall | undefined => this.callsOf(method)[index];
    return this.until(of, `call ${index} of ${method}`);
  }

  callsOf(method: string): TelegramCall[] {
    return this.calls.filter((call) => call.method.toLowerCase() === method.toLowerCase());
  }

  until<T>(find: () => T | undefined, what: string, boundMs?: number): Promise<T> {
    return this.#watch.until(find, what, boundMs);
  }

  #state(chat: Chat): ChatState {
    const state = this.#world.chats.get(chat.id);
    if (state === undefined) throw new Error(`There is no chat ${chat.id}: make it first.`);
    return state;
  }

  #arrive(state: ChatState, from: User | null, more: More, content: object): Message {
    const { chats, queue, readsAllGroupMessages } = this.#world;
    const message = chats.write(state, from, more, content);
    const type = state.chat.type === 'channel' ? 'channel_post' : 'message';
    const own = from?.id === this.bot.id;
    if (!own && (readsAllGroupMessages || isForBot(message, this.bot))) queue.add(type, message);
    this.#watch.changed();
    return message;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = /^\/(file\/)?bot([^/]*)\/(.+)$/.exec(url.pathname);
    if (path === null) return send(refuse(404, 'Not Found'), response);
    const [, file, token, rest = ''] = path;
    // The platform's own servers recognise by its shape that a token is invalid.
    if (!/^\d+:[\w-]+$/.test(token ?? '')) return send(refuse(404, 'Not Found'), response);
    if (token !== this.token || this.#revoked) return send(refuse(401, 'Unauthorized'), response);
    if (file !== undefined) {
      return sendFile(this.downloads, this.#world.files, rest, response);
    }
    const params = await readParams(url, Buffer.concat(parts), request.headers['content-type']);
    const port = request.socket.remotePort ?? 0;
    const called = { method: rest, params: params ?? {}, at: this.#now(), port };
    const call: TelegramCall = { ...called, gone: false, answer: null, over: false };
    response.once('close', () => (call.gone = !response.writableFinished));
    this.calls.push(call);
    this.#watch.changed();
    if (this.onCall !== null) await this.onCall(call);
    if (params === null) send(badRequest("can't parse JSON object"), response);
    else await this.#answer(call, response);
    call.over = true;
    this.#watch.changed();
  }

  async #answer(call: TelegramCall, response: ServerResponse): Promise<void> {
    const fault = this.#nextFault(call.method);
    if (fault === undefined) {
      const refused = this.limits?.take(call.method, call.params) ?? null;
      const run = refused ?? callMethod(this.#world, call.method, call.params);
      this.#watch.changed();
      call.answer = await run;
      return send(call.answer, response);
    }
    const run = takesEffect(fault) ? callMethod(this.#world, call.method, call.params) : null;
    answerBadly(fault, await run, response);
  }

  #nextFault(method: string): Fault | undefined {
    const name = method.toLowerCase();
    const planned = this.#planned.find((one) => one.method === name || one.method === '*');
    if (planned === undefined) return undefined;
    if (--planned.left <= 0) this.#planned.splice(this.#planned.indexOf(planned), 1);
    return planned.fault;
  }
}
