/**
 * The Discord channel (`messenger_b`): messages arrive over the gateway, replies go out over REST.
 * This file has the facts and the calls that `../messenger/` needs.
 *
 * For some minutes Discord recognises a repeated new message by its nonce, and answers with the
 * existing one. A preview's nonce comes from its question. By it the reply finds a preview even if
 * nobody saw whether Discord made it.
 *
 * Format: https://discord.com/developers/docs/resources/message#create-message, #edit-message; error
 * codes: https://discord.com/developers/docs/topics/opcodes-and-status-codes
 */
import type { ConversationId } from '../../domain/ids.ts';
import { fieldsOf, listOf } from '../../lib/json.ts';
import type { FetchResult, Identity, Messenger } from '../channel.ts';
import type { Menu, MenuOutcome } from '../messenger/command-menu.ts';
import { continuationMark } from '../messenger/growing-message.ts';
import {
  failedFetch,
  MessengerChannel,
  unfetched,
  type MessengerDeps,
} from '../messenger/messenger.ts';
import type {
  DirectChat,
  Intake,
  Meaning,
  Outgoing,
  Platform,
  PlatformKind,
  Room,
} from '../messenger/platform.ts';
import { codeAsMarkdown } from '../messenger/splitting.ts';
import { createApi, refusal, type Api, type Refused, type Result } from './api.ts';
import { tokenRefused } from './connection.ts';
import { gatewayLimits, runGateway, type GatewayLimits } from './gateway.ts';
import { Deferrals, fileForm, publishCommands, refusesFile } from './interactions.ts';
import { discord } from './kind.ts';
import {
  bodyOf,
  idOf,
  nonceFits,
  parseSelf,
  parseTarget,
  textUnitsMax,
  type Target,
} from './wire.ts';

export type DiscordDeps = MessengerDeps & {
  /** Shorter limits for tests; `gatewayLimits` gives the others. */
  readonly limits?: Partial<GatewayLimits>;
};

/** Makes the channel; it loads and asks nothing before `open` or `identify`. */
export function createDiscordChannel({ limits, ...deps }: DiscordDeps): Messenger {
  return new MessengerChannel(discordKind, deps, async (given) => {
    const all = { ...gatewayLimits, ...limits };
    return new DiscordPlatform(given, await createApi(given), all);
  });
}

export const discordKind: PlatformKind<Target> = {
  kind: discord,
  textUnitsMax,
  codeCharactersMax: 1_500,
  buttons: { labelUnitsMax: 80, saysBytesMax: 100 },
  // Discord drops "… is typing" after 10 s.
  typingEveryMs: 8_000,
  silence: null,
  malformedToken: (tokenEnv) =>
    `the value of ${tokenEnv} is no bot token, which has three parts with dots between them; ` +
    'copy it from the developer portal (Bot → Reset Token)',
  parseTarget: ({ target }) => parseTarget(target),
  isGroup: ({ message }) => message !== null,
  // A deferred response shows that svc works on it, and the reply completes it.
  showsWork: ({ deferred }) => deferred === undefined,
  editedQuestion: ({ edits }) => edits ?? null,
  isAcknowledged: ({ acknowledged }) => acknowledged === true,
  names: {
    in: (body, { place }) => {
      const id = idIn(body);
      return id === null ? null : `${place}/${id}`;
    },
    isAt: (name, { place }) => parseName(name)?.place === place,
    unsure: (name) => `${name}${unsureMark}`,
    sureOf: (name) => (name.endsWith(unsureMark) ? name.slice(0, -unsureMark.length) : null),
  },
  repeats: {
    recognises: nonceFits,
    unseenName: ({ place, deferred }, key) => (deferred === undefined ? `${place}/${key}` : null),
    keyIn: (name, { place }) => {
      const [, at, key] = /^(\d{1,20})\/(p[\w-]{1,24})$/.exec(name) ?? [];
      return at === place ? (key ?? null) : null;
    },
    isShown: (body, { text, file }) => {
      const { content: shown, attachments } = fieldsOf(body);
      if (file === null) return shown === text.trim() && !text.endsWith(continuationMark);
      if (shown === codeAsMarkdown(text, textUnitsMax).trim()) return true;
      return listOf(attachments).some((one) => fieldsOf(one)['filename'] === file.name);
    },
  },
};

const unsureMark = '/unsure';

/** @returns null: this is no name of a message of Discord's, `place/id` */
function parseName(name: string): { readonly place: string; readonly id: string } | null {
  const [place, id, ...rest] = name.split('/').map(idOf);
  return place && id && rest.length === 0 ? { place, id } : null;
}

function routeTo(name: string) {
  const { place, id } = parseName(name) ?? { place: '0', id: '0' };
  return `/channels/${place}/messages/${id}` as const;
}

function idIn(body: unknown): string | null {
  return idOf(fieldsOf(body)['id']);
}

/** Refusals that are final, in our words. */
const finalRefusals: Readonly<Record<number, string>> = {
  10003: 'the channel is gone (10003)',
  50001: 'the bot has no access to that channel (50001)',
  50007: 'that person takes no direct messages from the bot (50007)',
  50013: 'the bot may not write in that channel (50013)',
};

/**
 * Limits that Discord tells by another status than 429, in our words (SnowTransfer#43,
 * davidhozic/discord-advertisement-framework#82).
 */
const temporaryRefusals: Readonly<Record<number, string>> = {
  40003: 'the bot opens direct messages too fast (40003)',
};

/** Discord names each fault of the reference so. */
const referenceFault = /^(?:REPLIES|MESSAGE_REFERENCE)_/;
/**
 * The answered message is gone; or the bot may not read the channel's history (160002,
 * grammar-nazi-bot#244; 160009, discord-api-docs#8424).
 */
const referenceCodes: ReadonlySet<number | null> = new Set([10_008, 160_002, 160_009]);

/**
 * Whether the message could go without its reference. `fail_if_not_exists` covers only a message
 * that is gone, and not on every server. A message may also count as a system message
 * (hermes-agent#1293).
 */
function refusesReference({ status, code, names }: Refused): boolean {
  if (status >= 500) return false;
  if (referenceCodes.has(code)) return true;
  return code === 50_035 && names.some((name) => referenceFault.test(name));
}

const eyes = encodeURIComponent('👀');
const fileHosts: ReadonlySet<string> = new Set(['cdn.discordapp.com', 'media.discordapp.net']);
/** The server's administrator must grant this permission. */
const unreadable = failedFetch('unauthorized', {
  status: 403,
  detail: 'the bot may not read that message: it needs “Read Message History” there',
});

class DiscordPlatform implements Platform<Target, Refused> {
  readonly room: Room<Target>;
  readonly #deps: MessengerDeps;
  readonly #api: Api;
  readonly #limits: GatewayLimits;
  readonly #deferrals = new Deferrals();

  constructor(deps: MessengerDeps, api: Api, limits: GatewayLimits) {
    this.#deps = deps;
    this.#api = api;
    this.#limits = limits;
    // The API itself admits each call, since it knows the limits of the routes.
    this.room = {
      isOfPlaces: true,
      admit: () => Promise.resolve({ kind: 'go' }),
      spare: (_target, signal, _kind, isFirst) => api.spare(signal, isFirst),
      pauseFor: () => {},
    };
  }

  run(intake: Intake<Target>, signal: AbortSignal): Promise<void> {
    const own = { api: this.#api, deferrals: this.#deferrals, limits: this.#limits };
    return runGateway({ ...this.#deps, ...intake, ...own }, signal);
  }

  send(outgoing: Outgoing<Target>, signal: AbortSignal): Promise<Result> {
    const { target, file } = outgoing;
    const route = `/channels/${target.place}/messages` as const;
    const body = this.#bodyOf(outgoing);
    const content = file === null ? { body } : { form: fileForm(file.name, body) };
    const isAdmitted = outgoing.isPreview;
    return this.#api.call('POST', route, { ...content, signal, isAdmitted });
  }

  edit(name: string, outgoing: Outgoing<Target>, signal: AbortSignal): Promise<Result> {
    const { isPreview: isAdmitted } = outgoing;
    const { message_reference: _to, ...named } = this.#bodyOf(outgoing);
    const { nonce: _nonce, enforce_nonce: _enforced, ...shown } = named;
    // Parts of a message that an edit does not name stay.
    const body = { components: [], attachments: [], ...shown };
    return this.#api.call('PATCH', routeTo(name), { body, signal, isAdmitted });
  }

  #bodyOf(outgoing: Outgoing<Target>) {
    const body = bodyOf(outgoing);
    return outgoing.isPreview ? { ...body, content: `${body.content}${continuationMark}` } : body;
  }

  remove(name: string, signal: AbortSignal): Promise<Result> {
    // The name of a preview that may exist is none of a message.
    if (parseName(name) === null) return Promise.resolve(refusal(404));
    return this.#api.call('DELETE', routeTo(name), { signal });
  }

  complete(outgoing: Outgoing<Target>, signal: AbortSignal): Promise<Result | null> {
    return this.#deferrals.complete(this.#api, outgoing, signal);
  }

  readonly refusesFile = refusesFile;

  repair(outgoing: Outgoing<Target>, refused: Refused): boolean {
    const { refers, edits, target } = outgoing;
    const hasReference = refers && edits === null && target.message !== null;
    if (!hasReference || !refusesReference(refused)) return false;
    outgoing.refers = false;
    return true;
  }

  meaningOf({ status, code }: Refused): Meaning | null {
    if (status < 400 || status === 401 || status >= 500) return null;
    const limit = code === null ? undefined : temporaryRefusals[code];
    if (limit !== undefined) return { kind: 'rate_limited', isFinal: false, detail: limit };
    const detail = code === null ? undefined : finalRefusals[code];
    return { kind: status === 404 ? 'gone' : 'rejected', isFinal: true, detail };
  }

  showTyping({ place }: Target, signal: AbortSignal): Promise<Result> {
    return this.#api.call('POST', `/channels/${place}/typing`, { signal, isAdmitted: true });
  }

  /** https://discord.com/developers/docs/resources/message#create-reaction */
  react({ place, message }: Target, signal: AbortSignal): Promise<Result> {
    const route = `/channels/${place}/messages/${message}/reactions/${eyes}/@me` as const;
    return this.#api.call('PUT', route, { signal, isAdmitted: true });
  }

  /**
   * The address of an attachment is signed and expires soon, so svc reads the message for a fresh
   * one (https://discord.com/developers/docs/resources/message#attachment-object). It needs no token.
   */
  async locate(file: string, _bytesMax: number, signal: AbortSignal): Promise<URL | FetchResult> {
    const [place, message, attachment] = file.split('/').map(idOf);
    if (!place || !message || !attachment) return failedFetch('rejected');
    const answer = await this.#api.call('GET', routeTo(`${place}/${message}`), { signal });
    if (answer.kind === 'fault') return failedFetch(answer.fault);
    if (answer.kind === 'refused') {
      return answer.status === 403 ? unreadable : unfetched(answer.status);
    }
    return this.#addressOf(answer.body, attachment) ?? failedFetch('not_found');
  }

  /** @returns null: the file is gone, or on a host that svc does not read from */
  #addressOf(message: unknown, id: string): URL | null {
    const { baseUrl } = this.#deps.config;
    const fields = fieldsOf(message);
    const forwarded = listOf(fields['message_snapshots']).map((one) => {
      return fieldsOf(fieldsOf(one)['message'])['attachments'];
    });
    const all = [fields['attachments'], ...forwarded].flatMap(listOf).map(fieldsOf);
    const text = all.find((one) => one['id'] === id)?.['url'];
    if (typeof text !== 'string' || !URL.canParse(text)) return null;
    const url = new URL(text);
    if (baseUrl !== null) return url.host === new URL(baseUrl).host ? url : null;
    return url.protocol === 'https:' && fileHosts.has(url.hostname) ? url : null;
  }

  publishCommands(menu: Menu, signal: AbortSignal): Promise<MenuOutcome> {
    return publishCommands(this.#api, menu, signal);
  }

  /** The platform makes the chat, or answers with the existing one. */
  async direct(user: string, signal: AbortSignal): Promise<DirectChat | null> {
    if (idOf(user) === null) return null;
    const body = { recipient_id: user };
    const made = await this.#api.call('POST', '/users/@me/channels', { body, signal });
    const place = made.kind === 'ok' ? idIn(made.body) : null;
    return place === null ? null : { conversation: place as ConversationId, target: place };
  }

  async identify(signal: AbortSignal): Promise<Identity> {
    const answer = await this.#api.call('GET', '/users/@me', { signal });
    if (answer.kind === 'fault') {
      return { kind: 'unreached', message: `Discord could not be reached (${answer.fault})` };
    }
    if (answer.kind === 'refused') {
      const { status } = answer;
      const message = tokenRefused(this.#deps.config.tokenEnv);
      if (status === 401) return { kind: 'refused', message };
      return { kind: 'unreached', message: `Discord answered ${status}` };
    }
    const self = parseSelf(answer.body);
    if (self !== null) return { kind: 'known', ...self };
    return { kind: 'unreached', message: 'what answered is not Discord; look at base_url' };
  }

  close(): void {
    this.#api.close();
  }
}
