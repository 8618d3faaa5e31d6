/**
 * Slash commands of the fake: the registered ones, the choices of people, and the responses. Pages:
 * https://discord.com/developers/docs/interactions/application-commands,
 * /interactions/receiving-and-responding (a first response within 3 s, a token for 15 minutes).
 */
import type { Guilds } from './guilds.ts';
import { componentsFault, interactionOf } from './interactions.ts';
import type { RestAnswer, RestRequest } from './rest.ts';
import {
  errors,
  type Channel,
  type ErrorName,
  type Message,
  type Snowflake,
  type User,
} from './wire.ts';

type Option = { readonly type: number; readonly name: string; readonly description: string };
type Registered = {
  readonly id: Snowflake;
  readonly type: number;
  readonly name: string;
  readonly description: string;
  readonly options?: readonly Option[];
};

/** A person's choice of a command. */
type Chosen = {
  readonly id: Snowflake;
  readonly token: string;
  readonly channel: Snowflake;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The response; null: none yet. */
  original: Message | null;
};

const nameShape = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;
const [commandsMax, descriptionMax, contentMax] = [100, 100, 2_000];
const [answerMs, tokenMs] = [3_000, 15 * 60_000];
const [deferredMessage, loading] = [5, 1 << 7];
const suppressEmbeds = 1 << 2;

export class SlashCommands {
  registered: readonly Registered[] = [];
  readonly chosen: Chosen[] = [];
  readonly #parts: { guilds: Guilds; now: () => number; bot: User };

  constructor(guilds: Guilds, now: () => number, bot: User) {
    this.#parts = { guilds, now, bot };
  }

  /** Returns the event of the choice. */
  choose(from: User, channel: Channel, name: string, text?: string): object {
    const { guilds, now, bot } = this.#parts;
    const command = this.registered.find((one) => one.name === name);
    if (command === undefined) throw new Error(`There is no command ${name}.`);
    const id = guilds.nextId();
    const token = `aW50ZXJhY3Rpb24-${id}`;
    this.chosen.push({ id, token, channel: channel.id, at: now(), original: null });
    const options = text === undefined ? [] : [{ type: 3, name: 'text', value: text }];
    return {
      ...interactionOf({ id, token, from }, channel, bot.id),
      type: 2,
      data: { id: command.id, type: 1, name, ...(options.length > 0 && { options }) },
    };
  }

  /** @returns null: the path is none of these routes, or no answer to a command */
  answer({ method, path, body, files = [] }: RestRequest): RestAnswer | null {
    const [, first, id = '', token = '', ...rest] = path.split('/');
    if (first === 'applications' && token === 'commands') {
      if (id !== this.#parts.bot.id) return failed('unknownApplication');
      return this.#ofApplication(method, rest[0], body);
    }
    if (first === 'interactions') {
      const chosen = this.chosen.find((one) => one.id === id && one.token === token);
      return chosen === undefined ? null : this.#respond(chosen, body);
    }
    if (first !== 'webhooks' || rest.join('/') !== 'messages/@original') return null;
    const chosen = this.chosen.find((one) => one.token === token);
    if (chosen === undefined) return failed('unknownWebhook');
    if (this.#parts.now() - chosen.at > tokenMs) return failed('invalidWebhookToken');
    if (chosen.original === null) return failed('unknownWebhook');
    if (method === 'PATCH') return this.#edit(chosen, body, files);
    return { status: 200, body: chosen.original };
  }

  #ofApplication(method: string, command: string | undefined, body: unknown): RestAnswer {
    if (method === 'POST') return this.#register(body ?? {});
    if (method !== 'DELETE') return { status: 200, body: this.registered };
    const left = this.registered.filter(({ id }) => id !== command);
    if (left.length === this.registered.length) return failed('unknownCommand');
    this.registered = left;
    return { status: 204, body: undefined };
  }

  /** Replaces a command with the same name, which keeps its id. */
  #register({
    name = '',
    description = '',
    type = 1,
    options = [],
  }: Partial<Registered>): RestAnswer {
    if (!nameShape.test(name) || name !== name.toLowerCase()) return invalid('name');
    if (description === '' || description.length > descriptionMax) return invalid('description');
    const isFit = (option: Option): boolean =>
      nameShape.test(option.name) && option.description !== '';
    if (!options.every(isFit)) return invalid('options');
    const before = this.registered.find((one) => one.name === name && one.type === type);
    const others = this.registered.filter((one) => one !== before);
    if (others.length >= commandsMax) return failed('tooManyCommands');
    const id = before?.id ?? this.#parts.guilds.nextId();
    const shown = options.length === 0 ? {} : { options };
    const made = { id, type, name, description, ...shown };
    this.registered = [...others, made];
    return { status: before === undefined ? 201 : 200, body: made };
  }

  #respond(chosen: Chosen, body: unknown): RestAnswer {
    const { guilds, now, bot } = this.#parts;
    if (now() - chosen.at > answerMs) return failed('unknownInteraction');
    if (chosen.original !== null) return failed('answeredInteraction');
    if ((body as { type?: unknown } | null)?.type !== deferredMessage) return invalid('type');
    const state = guilds.channels.get(chosen.channel)!;
    const fields = { flags: loading, type: 20 };
    chosen.original = guilds.write(state, bot, '', { fields });
    return { status: 204, body: undefined };
  }

  #edit(chosen: Chosen, body: unknown, files: NonNullable<RestRequest['files']>): RestAnswer {
    const given = (body ?? {}) as Record<string, unknown>;
    const { content = '', flags = 0, components } = given;
    if (typeof content !== 'string' || Array.from(content).length > contentMax) {
      return invalid('content');
    }
    if (content.trim() === '' && files.length === 0) return failed('emptyMessage');
    if (flags !== 0 && flags !== suppressEmbeds) return invalid('flags');
    if (componentsFault(components) !== null) return invalid('components');
    const { guilds } = this.#parts;
    const { messages } = guilds.channels.get(chosen.channel)!;
    const edited = {
      ...chosen.original!,
      content: content.trim(),
      flags,
      components,
      files,
      attachments: files.map(({ name }) => ({ id: guilds.nextId(), filename: name })),
    } as Message;
    messages.splice(messages.indexOf(chosen.original!), 1, edited);
    chosen.original = edited;
    return { status: 200, body: edited };
  }
}

function failed(name: ErrorName): RestAnswer {
  const [status, code, message] = errors[name];
  return { status, body: { message, code } };
}

function invalid(field: string): RestAnswer {
  const found = { [field]: { _errors: [{ code: 'INVALID', message: 'It is not valid.' }] } };
  return { status: 400, body: { message: 'Invalid Form Body', code: 50_035, errors: found } };
}
