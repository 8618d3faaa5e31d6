/**
 * The Telegram channel (`messenger_a`): a bot that polls the Bot API
 * (https://core.telegram.org/bots/api). This file has the facts and the calls that
 * `../messenger/` needs.
 */
import { beginning } from '../../domain/reply.ts';
import { dayMs } from '../../lib/durations.ts';
import { fieldsOf, listOf } from '../../lib/json.ts';
import type { FetchResult, Identity, Messenger, WebhookProbe } from '../channel.ts';
import type { Menu, MenuOutcome } from '../messenger/command-menu.ts';
import { continuationMark } from '../messenger/growing-message.ts';
import { ChatRoom, type RoomLimits } from '../messenger/rate-limits.ts';
import {
  failedFetch,
  MessengerChannel,
  unfetched,
  type MessengerDeps,
} from '../messenger/messenger.ts';
import type {
  DirectChat,
  DraftPreview,
  Intake,
  Meaning,
  Outgoing,
  Platform,
  PlatformKind,
  Room,
} from '../messenger/platform.ts';
import { apiRoot, BotApi, refusesToken, type Refused, type Result } from './bot-api.ts';
import { draftIdOf, Drafts } from './drafts.ts';
import { FormerChats } from './former-chats.ts';
import { telegram } from './kind.ts';
import { format, loadLexer, type Formatted, type Lexer } from './markdown.ts';
import { Poller, pollTimes, type PollTimes } from './polling.ts';
import { directChatOf, markupOf, parseBot, parseTarget, string, type Target } from './wire.ts';

export type TelegramDeps = MessengerDeps & {
  /** Shorter times for tests. */
  readonly times?: Partial<PollTimes>;
};

/** Makes the channel; it loads and asks nothing before `open`. */
export function createTelegramChannel({ times, ...deps }: TelegramDeps): Messenger {
  return new MessengerChannel(telegramKind, deps, async (given) => {
    const all = { ...pollTimes, ...times };
    const room = createRoom(given);
    return new TelegramPlatform(given, new BotApi(given), await loadLexer(), room, all);
  });
}

/** In UTF-16 units. */
const textUnitsMax = 4_096;

export const telegramKind: PlatformKind<Target> = {
  kind: telegram,
  textUnitsMax,
  codeCharactersMax: 3_000,
  // Nobody in a chat can use an answer that is a day late.
  deliverMsMax: dayMs,
  // Telegram names no limit for a label; the text of a button has at most 64 bytes.
  buttons: { labelUnitsMax: 64, saysBytesMax: 64 },
  // Telegram shows "typing…" for five seconds (https://core.telegram.org/bots/api#sendchataction).
  typingEveryMs: 4_000,
  silence: { ms: 90_000, reason: (seconds) => `no poll has ended for ${seconds} s` },
  malformedToken: (tokenEnv) => `${tokenEnv} holds no bot token, which looks like 123456789:AAH…`,
  tokenRemedy: (tokenEnv) =>
    `; copy the whole of it from @BotFather, set ${tokenEnv} to it, restart`,
  parseTarget,
  // A group's id is below zero.
  isGroup: ({ chat }) => chat < 0,
  showsWork: () => true,
  editedQuestion: ({ chat, edits }) => (edits === undefined ? null : `${chat}:${edits}`),
  isAcknowledged: ({ acknowledged, replyTo }) => acknowledged === true && replyTo !== null,
  names: {
    in: (body, { chat }) => {
      const number = fieldsOf(body)['message_id'];
      return typeof number === 'number' ? JSON.stringify([chat, number]) : null;
    },
    isAt: (name, { chat }) => parseName(name)?.chat === chat,
    unsure: (name) => `${name.slice(0, -1)}${unsureMark}`,
    sureOf: (name) => (name.endsWith(unsureMark) ? `${name.slice(0, -unsureMark.length)}]` : null),
  },
  hasWebhooks: true,
};

const unsureMark = ',"unsure"]';

/**
 * https://core.telegram.org/bots/faq, "My bot is hitting limits": about 30 messages a second in
 * all, one a second in a chat with short bursts, and 20 a minute in a group. svc stays below each
 * limit in any second and any minute.
 */
const roomLimits: RoomLimits = {
  bot: { everyMs: 36, burst: 2 },
  secondMax: 29,
  drafts: { everyMs: 36, burst: 50 },
  person: { everyMs: 1_050, burst: 3 },
  group: { everyMs: 4_000, burst: 4 },
  waitMsMax: 2_000,
};

/** @param limits other limits for tests */
export function createRoom(
  { deadlines, steady }: Pick<MessengerDeps, 'deadlines' | 'steady'>,
  limits: Partial<RoomLimits> = {},
): Room<Target> {
  const chatOf = ({ chat }: Target): number => chat;
  const isGroup = ({ chat }: Target): boolean => chat < 0;
  return new ChatRoom({ deadlines, steady, limits: { ...roomLimits, ...limits }, chatOf, isGroup });
}

/** @returns null: this is no name of a message of Telegram's, `[chat, number]` */
function parseName(name: string): { readonly chat: number; readonly number: number } | null {
  const [, chat, number] = /^\[(-?\d{1,16}),(\d{1,16})\]$/.exec(name) ?? [];
  return chat === undefined ? null : { chat: Number(chat), number: Number(number) };
}

const noMessage: Refused = {
  kind: 'refused',
  status: 404,
  description: '',
  retryAfterMs: null,
  migrateToChat: null,
};

const callMs = { send: 15_000, preview: 10_000, edge: 5_000, file: 10_000, commands: 15_000 };
/** The reply waits for a draft call under way, since a late draft would show beside the reply. */
const draftMs = 4_000;

export class TelegramPlatform implements Platform<Target, Refused> {
  readonly room: Room<Target>;
  readonly #deps: MessengerDeps;
  readonly #api: BotApi;
  readonly #lexer: Lexer;
  readonly #times: PollTimes;
  readonly #drafts: Drafts;
  readonly #formerChats = new FormerChats();

  constructor(
    deps: MessengerDeps,
    api: BotApi,
    lexer: Lexer,
    room: Room<Target>,
    times: PollTimes,
  ) {
    this.#deps = deps;
    this.#api = api;
    this.#lexer = lexer;
    this.room = room;
    this.#times = times;
    this.#drafts = new Drafts(deps.steady);
  }

  run(intake: Intake<Target>, signal: AbortSignal): Promise<void> {
    const own = { api: this.#api, times: this.#times, formerChats: this.#formerChats };
    return new Poller({ ...this.#deps, ...intake, ...own }, signal).run();
  }

  /** https://core.telegram.org/bots/api#sendmessage, #senddocument */
  send(outgoing: Outgoing<Target>, signal: AbortSignal): Promise<Result> {
    const { file, text, isPreview } = outgoing;
    const place = { ...placeFields(outgoing), ...markupOf(outgoing.buttons) };
    if (file !== null) {
      return this.#api.sendDocument(place, { name: file.name, text }, callMs.send, signal);
    }
    const payload = { ...place, ...this.#contentOf(outgoing) };
    const timeoutMs = isPreview ? callMs.preview : callMs.send;
    return this.#api.call('sendMessage', payload, timeoutMs, signal);
  }

  /** https://core.telegram.org/bots/api#editmessagetext */
  async edit(name: string, outgoing: Outgoing<Target>, signal: AbortSignal): Promise<Result> {
    const { target, buttons, isPreview } = outgoing;
    const message_id = parseName(name)?.number ?? 0;
    const content = { ...this.#contentOf(outgoing), ...markupOf(buttons) };
    const payload = { chat_id: target.chat, message_id, ...content };
    const timeoutMs = isPreview ? callMs.preview : callMs.send;
    const result = await this.#api.call('editMessageText', payload, timeoutMs, signal);
    // The message shows this text already.
    const isSame = result.kind === 'refused' && /message is not modified/i.test(result.description);
    return isSame ? { kind: 'ok', body: { message_id } } : result;
  }

  remove(name: string, signal: AbortSignal): Promise<Result> {
    const known = parseName(name);
    if (known === null) return Promise.resolve(noMessage);
    const payload = { chat_id: known.chat, message_id: known.number };
    return this.#api.call('deleteMessage', payload, callMs.edge, signal);
  }

  /** The text with its formatting, or without it if that does not fit. Links get no preview. */
  #contentOf({ text: source, isPlain, isPreview }: Outgoing<Target>) {
    const { text, entities } = isPlain ? unformatted(source) : this.#formatted(source);
    return {
      text: isPreview ? `${text}${continuationMark}` : text,
      link_preview_options: { is_disabled: true },
      ...(entities.length > 0 && { entities: [...entities] }),
    };
  }

  #formatted(source: string): Formatted {
    const formatted = format(source, this.#lexer);
    const fits = formatted.text !== '' && formatted.text.length <= textUnitsMax;
    return fits ? formatted : unformatted(source);
  }

  plain(text: string): string {
    return this.#formatted(text).text;
  }

  refusesFile({ status, description }: Refused): boolean {
    return status === 413 || (status === 400 && fileRefused.test(description));
  }

  repair(outgoing: Outgoing<Target>, { status, description, migrateToChat }: Refused): boolean {
    if (status !== 400) return false;
    const { target, buttons } = outgoing;
    if (migrateToChat !== null) {
      if (migrateToChat === target.chat) return false;
      this.#formerChats.learnNow({ from: target.chat, to: migrateToChat });
      // The group became a new chat, which numbers its messages anew.
      outgoing.target = { ...target, chat: migrateToChat };
      outgoing.refers = false;
      outgoing.edits = null;
    } else if (target.thread !== null && topicIsGone.test(description)) {
      outgoing.target = { ...target, thread: null };
    } else if (outgoing.refers && target.replyTo !== null && answeredIsGone.test(description)) {
      outgoing.refers = false;
    } else if (buttons.length > 0 && /button|keyboard|reply.?markup/i.test(description)) {
      outgoing.buttons = [];
    } else if (this.#hasEntities(outgoing) && /entit|can't parse/i.test(description)) {
      outgoing.isPlain = true;
    } else {
      return false;
    }
    return true;
  }

  #hasEntities({ file, isPlain, text }: Outgoing<Target>): boolean {
    return file === null && !isPlain && this.#formatted(text).entities.length > 0;
  }

  meaningOf({ status }: Refused): Meaning | null {
    if (status === 403) {
      const detail = 'the person blocked the bot, or it may not write there';
      return { kind: 'gone', isFinal: true, detail };
    }
    if (status === 404) return { kind: 'unauthorized', isFinal: false };
    if (status === 409) return { kind: 'overloaded', isFinal: false };
    return null;
  }

  draft(target: Target, question: string): DraftPreview | null {
    if (!this.#drafts.mayShow(target)) return null;
    return {
      // Telegram refused bots that sent a draft every 0.1 s for some time. Clients animate the text
      // between two drafts. Telegram drops a draft 30 s after the last call.
      everyMs: 1_000,
      repeatMs: 20_000,
      put: (text, signal) => this.#draft(target, draftIdOf(question), text, signal),
    };
  }

  /** A draft has no "…" behind it: a client marks a draft itself, and animates its end. */
  async #draft(
    target: Target,
    draft_id: number,
    source: string,
    signal: AbortSignal,
  ): Promise<Result> {
    const { text, entities } = this.#formatted(source);
    const content = { text, ...(entities.length > 0 && { entities: [...entities] }) };
    const payload = { ...placeOf(target), draft_id, ...content };
    const result = await this.#api.call('sendMessageDraft', payload, draftMs, signal);
    if (result.kind === 'ok') this.#drafts.shown(target);
    const isAboutDraft = result.kind === 'refused' && [400, 404].includes(result.status);
    if (isAboutDraft) this.#drafts.refused(target, result);
    return result;
  }

  showTyping(target: Target, signal: AbortSignal): Promise<Result> {
    const payload = { ...placeOf(target), action: 'typing' } as const;
    return this.#api.call('sendChatAction', payload, callMs.edge, signal);
  }

  /** https://core.telegram.org/bots/api#setmessagereaction */
  react({ chat, replyTo }: Target, signal: AbortSignal): Promise<Result> {
    const reaction = [{ type: 'emoji', emoji: '👀' }] as const;
    const payload = { chat_id: chat, message_id: replyTo ?? 0, reaction: [...reaction] };
    return this.#api.call('setMessageReaction', payload, callMs.edge, signal);
  }

  /**
   * https://core.telegram.org/bots/api#getfile. The address of a file holds the token, so only the
   * request gets it.
   */
  async locate(file: string, bytesMax: number, signal: AbortSignal): Promise<URL | FetchResult> {
    const answer = await this.#api.call('getFile', { file_id: file }, callMs.file, signal);
    if (answer.kind === 'fault') return failedFetch(answer.fault);
    if (answer.kind === 'refused') {
      const { status, description } = answer;
      if (/too big/i.test(description)) return { kind: 'too_large' };
      return fileIsAway.test(description)
        ? failedFetch('server_error', { status })
        : unfetched(status);
    }
    const { file_path, file_size: size } = fieldsOf(answer.body);
    const path = string(file_path);
    if (typeof size === 'number' && size > bytesMax) return { kind: 'too_large' };
    if (path === null || !relativePath.test(path)) {
      const isLocalPath = path?.startsWith('/') === true;
      return failedFetch('malformed_answer', isLocalPath ? { detail: localPathDetail } : {});
    }
    const { token, config } = this.#deps;
    return new URL(`${config.baseUrl ?? apiRoot}/file/bot${token}/${path}`);
  }

  /**
   * https://core.telegram.org/bots/api#setmycommands. Telegram keeps one list, which the bot's
   * owner may have made with BotFather. The owner's commands come first, and replace a command of
   * svc with the same word.
   */
  async publishCommands(menu: Menu, signal: AbortSignal): Promise<MenuOutcome> {
    const got = await this.#api.call('getMyCommands', {}, callMs.commands, signal);
    if (got.kind !== 'ok') return menuOutcomeOf(got);
    const shown = shownIn(got.body);
    const others = shown.filter(({ command: word, description }) => {
      return !menu.isOwn({ word, description });
    });
    const ours = menu.commands
      .filter(({ word }) => commandShape.test(word))
      .filter(({ word }) => others.every(({ command }) => command !== word))
      .slice(0, Math.max(0, shownMax - others.length));
    for (let most = descriptionMax; ; most = Math.floor(most * 0.4)) {
      const short = ours.map(({ word, description }) => {
        return { word, description: beginning(description, most).trimEnd() };
      });
      if (!(await menu.keep(short))) return { kind: 'away', retryAfterMs: null };
      const wanted = [
        ...others,
        ...short.map(({ word, description }) => ({ command: word, description })),
      ];
      if (JSON.stringify(shown) === JSON.stringify(wanted)) return { kind: 'there' };
      const set = { commands: wanted };
      const result = await this.#api.call('setMyCommands', set, callMs.commands, signal);
      const isTooMuch = result.kind === 'refused' && /TOO_MUCH/.test(result.description);
      if (!isTooMuch || most <= shortestDescriptionMax) return menuOutcomeOf(result);
    }
  }

  /** Sends no request. If the person has not begun the chat, the first message fails. */
  direct(user: string): Promise<DirectChat | null> {
    return Promise.resolve(directChatOf(user));
  }

  async identify(signal: AbortSignal): Promise<Identity> {
    const { tokenEnv, access } = this.#deps.config;
    const result = await this.#api.call('getMe', {}, pollTimes.callMs, signal);
    if (refusesToken(result)) {
      return { kind: 'refused', message: `refused the token in ${tokenEnv}` };
    }
    const bot = result.kind === 'ok' ? parseBot(result.body) : null;
    if (bot !== null && result.kind === 'ok') {
      const hearsAll = fieldsOf(result.body)['can_read_all_group_messages'] !== false;
      const isHeldBack = access?.groups !== 'off' && !hearsAll;
      const note = isHeldBack ? { note: privacyMode } : {};
      return { kind: 'known', id: String(bot.id), name: `@${bot.username}`, ...note };
    }
    return { kind: 'unreached', message: `could not be asked about the token in ${tokenEnv}` };
  }

  /** https://core.telegram.org/bots/api#getwebhookinfo. The waiting updates stay. */
  async webhook(signal: AbortSignal, deleting: boolean): Promise<WebhookProbe> {
    const answer = await this.#api.call('getWebhookInfo', {}, pollTimes.callMs, signal);
    const url = answer.kind === 'ok' ? fieldsOf(answer.body)['url'] : null;
    if (typeof url !== 'string') return { kind: 'unknown' };
    if (url === '') return { kind: 'none' };
    const host = URL.parse(url)?.host ?? 'an address that cannot be read';
    if (!deleting) return { kind: 'set', host };
    const options = { drop_pending_updates: false };
    const deleted = await this.#api.call('deleteWebhook', options, pollTimes.callMs, signal);
    return { kind: deleted.kind === 'ok' ? 'deleted' : 'set', host };
  }
}

/** Telegram does not deliver every mention: HKUDS/nanobot#449. */
const privacyMode =
  'in groups its privacy mode lets it hear replies and commands, and not every mention';
const fileRefused = /document|file|too large|too big/i;
/**
 * The words of today's servers, and of older ones that ignore `allow_sending_without_reply`
 * (tdlib/telegram-bot-api#469).
 */
const answeredIsGone =
  /message to be replied not found|repl(?:y|ied) message not found|reply_message_id_invalid/i;
/** The second word: the server still remembered the topic (TediCross#243, BetterForward#58). */
const topicIsGone = /thread not found|topic_deleted/i;
/** The platform itself says that a later try may succeed (tdlib/telegram-bot-api#32, #82). */
const fileIsAway = /temporar\w+ unavailable/i;
/**
 * A relative path of plain names. A self-hosted server may give a path on its own disk; svc does
 * not read it.
 */
const relativePath = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;
const localPathDetail = 'the Bot API server gave a path of its own disk: start it without --local';
/** The shape of a command in the menu. Other commands work, but the menu does not show them. */
const commandShape = /^[a-z0-9_]{1,32}$/;
const shownMax = 100;
/**
 * Telegram also refuses a list of about 7,800 bytes and more (adolfousier/opencrabs#1613), so svc
 * shortens its descriptions until the list fits.
 */
const [descriptionMax, shortestDescriptionMax] = [100, 6];

function unformatted(text: string): Formatted {
  return { text, entities: [] };
}

function placeOf({ chat, thread }: Target) {
  return { chat_id: chat, ...(thread === null ? {} : { message_thread_id: thread }) };
}

/**
 * The fields of a new message's place. Telegram sends it even if the message that it answers is
 * gone.
 */
function placeFields({ target, refers }: Outgoing<Target>) {
  const { replyTo } = target;
  if (!refers || replyTo === null) return placeOf(target);
  const reply_parameters = { message_id: replyTo, allow_sending_without_reply: true };
  return { ...placeOf(target), reply_parameters };
}

function menuOutcomeOf(result: Result): MenuOutcome {
  if (result.kind === 'ok') return { kind: 'there' };
  if (result.kind !== 'refused') return { kind: 'away', retryAfterMs: null };
  const { status, description, retryAfterMs } = result;
  // A proxy's page or a refused token has nothing to do with the commands.
  if (status !== 400 || description === '') return { kind: 'away', retryAfterMs };
  const message =
    'Telegram refused the menu of commands (400), which stays as it is; each can be written all ' +
    'the same. Set the menu with @BotFather (/setcommands), where it is to show them';
  return { kind: 'refused', message };
}

function shownIn(result: unknown): readonly { command: string; description: string }[] {
  return listOf(result).map((one) => {
    const { command, description } = fieldsOf(one);
    return { command: String(command), description: String(description) };
  });
}
