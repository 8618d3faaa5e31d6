/**
 * Presses on buttons. An INTERACTION_CREATE becomes a message, as if the person had written the
 * button's text, and svc answers a press that the ledger took. No intent is needed.
 *
 * Format: https://discord.com/developers/docs/interactions/receiving-and-responding and
 * https://discord.com/developers/docs/components/reference#button (API version 10). The platform
 * wants an answer within 3 s; without one it shows the person that the press failed.
 */
import type {
  RESTPostAPIApplicationCommandsJSONBody,
  RESTPostAPIChannelMessageJSONBody,
} from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import type { Setting } from '../../domain/message.ts';
import { multipart } from '../../lib/pinned-client.ts';
import type { CommandNotice, OfferedCommands } from '../channel.ts';
import { isPressable, rowsWithout } from '../messenger/choices.ts';
import type { MenuOutcome } from '../messenger/command-menu.ts';
import type { Outgoing } from '../messenger/platform.ts';
import { codeAsMarkdown } from '../messenger/splitting.ts';
import type { Api, Refused, Result } from './api.ts';
import {
  bodyOf,
  button,
  componentsOf,
  fieldsOf,
  idOf,
  listOf,
  rowsIn,
  senderOf,
  targetOf,
  textOf,
  textUnitsMax,
  tokenShape,
  withNames,
  type Deferred,
  type Rows,
  type Target,
  type WireMessage,
} from './wire.ts';

/** Where svc answers a press; `token` is valid for this press alone. */
export type Press = {
  readonly id: string;
  readonly token: string;
  readonly setting: Setting;
  /** The buttons of the other questions in the same message. */
  readonly otherRows: Rows;
};

const answerMs = 3_000;
const messageComponent = 3;
/** A context: a chat of people without the bot. */
const betweenPeople = 2;
/** Callback types: no change, or a changed message. */
const deferredUpdate = 6;
const updateMessage = 7;
export type PressMessage = WireMessage & { readonly press: Press };

/**
 * Reads the `d` of an INTERACTION_CREATE.
 * @param self the bot's own user id
 * @returns null: this is no press on a button of svc
 */
export function parsePress(wire: unknown, self: string): PressMessage | null {
  const fields = fieldsOf(wire);
  const { component_type: type, custom_id: says } = fieldsOf(fields['data']);
  if (fields['type'] !== messageComponent || type !== button) return null;
  if (fields['context'] === betweenPeople) return null;
  const under = fieldsOf(fields['message']);
  const rows = rowsIn(under['components']);
  if (fieldsOf(under['author'])['id'] !== self) return null;
  if (!isPressable(says, rows)) return null;
  const [id, place, message] = [fields['id'], fields['channel_id'], under['id']].map(idOf);
  const isDirect = idOf(fields['guild_id']) === null;
  const sender = senderOf(isDirect ? fields['user'] : fieldsOf(fields['member'])['user']);
  const { token } = fields;
  if (!id || !place || !message || sender === null) return null;
  if (typeof token !== 'string' || !tokenShape.test(token)) return null;
  const setting = isDirect ? 'direct' : 'addressed';
  return {
    id,
    conversation: place as ConversationId,
    sender,
    text: says,
    media: null,
    setting,
    target: targetOf({ place, message: isDirect ? null : message }),
    press: { id, token, setting, otherRows: rowsWithout(says, rows) },
  };
}

/**
 * Answers a press that the ledger took. In a direct chat the buttons of the question go. In a
 * server they stay, since the person who pressed may have no right to decide. A failure changes
 * nothing.
 */
export function acknowledge(api: Api, { id, token, setting, otherRows }: Press): void {
  const answer =
    setting === 'direct'
      ? { type: updateMessage, data: { components: componentsOf(otherRows) } }
      : { type: deferredUpdate };
  const route = `/interactions/${id}/${token}/callback` as const;
  void api.call('POST', route, { body: answer, signal: AbortSignal.timeout(answerMs) });
}

// Slash commands: svc registers them, and reads the INTERACTION_CREATE of a command as a message,
// as if the person had written it. Such a message counts as said to the bot. Format:
// https://discord.com/developers/docs/interactions/application-commands (API version 10).

/** Where svc tells the platform that an answer will follow. */
export type Deferral = { readonly id: string; readonly token: string };

export type CommandMessage = WireMessage & { readonly deferral: Deferral };

const applicationCommand = 2;
const chatInput = 1;
const stringOption = 3;
const textOption = 'text';
/** In a server, and in the chat with the bot. */
const contexts = [0, 1];
/** Installed to a server. */
const integrationTypes = [0];

/**
 * Reads the `d` of an INTERACTION_CREATE.
 * @returns null: this is no slash command
 */
export function parseCommand(wire: unknown): CommandMessage | null {
  const fields = fieldsOf(wire);
  const { type, name, options } = fieldsOf(fields['data']);
  if (fields['type'] !== applicationCommand || type !== chatInput) return null;
  if (fields['context'] === betweenPeople) return null;
  const [id, place, application] = ['id', 'channel_id', 'application_id'].map((key) =>
    idOf(fields[key]),
  );
  const isDirect = idOf(fields['guild_id']) === null;
  const sender = senderOf(isDirect ? fields['user'] : fieldsOf(fields['member'])['user']);
  const { token } = fields;
  if (!id || !place || !application || sender === null) return null;
  if (typeof token !== 'string' || !tokenShape.test(token)) return null;
  if (typeof name !== 'string' || !wordShape.test(name)) return null;
  const { value } = fieldsOf(listOf(options).find((one) => fieldsOf(one)['name'] === textOption));
  return {
    id,
    conversation: place as ConversationId,
    sender,
    // The event has no names for mentioned people.
    text: typeof value === 'string' ? `/${name} ${withNames(value, {})}` : `/${name}`,
    media: null,
    setting: isDirect ? 'direct' : 'addressed',
    ...(!isDirect && { context: { inGroup: true } }),
    target: targetOf({ place, message: null, deferred: { application, token } }),
    deferral: { id, token },
  };
}

/** The shape of a command's name. Other commands work, but svc does not register them. */
const wordShape = /^[-_\p{L}\p{N}]{1,32}$/u;
const registeredMax = 100;

/** A global command of the application. */
type Registered = {
  readonly id: string | null;
  readonly name: string;
  readonly description: string;
  /** Null: the command has options that svc's commands do not have. */
  readonly takesText: boolean | null;
};

/**
 * Registers svc's commands one by one. Commands of others stay, even if one has the name of a
 * command of svc.
 */
export async function publishCommands(
  api: Api,
  { commands, own }: OfferedCommands,
  signal: AbortSignal,
): Promise<MenuOutcome> {
  const self = await api.call('GET', '/applications/@me', { signal });
  const application = self.kind === 'ok' ? idOf(fieldsOf(self.body)['id']) : null;
  if (application === null) return away;
  const route = `/applications/${application}/commands` as const;
  const answer = await api.call('GET', route, { signal });
  if (answer.kind !== 'ok') return menuOutcomeOf(answer);
  const registered = listOf(answer.body).flatMap(registeredIn);
  const ours = registered.filter(({ description, takesText }) => {
    return takesText !== null && own.has(description);
  });
  const others = new Set(registered.filter((one) => !ours.includes(one)).map(({ name }) => name));
  const wanted = registrableOf(commands).filter(({ word }) => !others.has(word));
  let outcome: MenuOutcome = { kind: 'there' };
  for (const { id, name } of ours) {
    if (id === null || wanted.some(({ word }) => word === name)) continue;
    outcome = worse(outcome, menuOutcomeOf(await api.call('DELETE', `${route}/${id}`, { signal })));
  }
  for (const one of wanted.filter((command) => !ours.some((other) => isSame(other, command)))) {
    if (outcome.kind === 'away') return outcome;
    outcome = worse(
      outcome,
      menuOutcomeOf(await api.call('POST', route, { body: wireOf(one), signal })),
    );
  }
  return outcome;
}

const away: MenuOutcome = { kind: 'away', retryAfterMs: null };

function worse(before: MenuOutcome, after: MenuOutcome): MenuOutcome {
  return after.kind === 'there' || before.kind === 'away' ? before : after;
}

function menuOutcomeOf(result: Result): MenuOutcome {
  if (result.kind === 'ok') return { kind: 'there' };
  if (result.kind === 'fault') return away;
  const { status, code, retryAfterMs } = result;
  // A proxy's page or a refused token has nothing to do with the commands.
  const isRefusal = status === 400 || status === 403;
  if (!isRefusal || code === null) return { kind: 'away', retryAfterMs };
  const message =
    `Discord refused a slash command (${status}, ${code}); each can be written all the same. ` +
    'Take words that it does not allow out of session.triggers, and invite the bot with the ' +
    'scope applications.commands; it is told them again at the next start or configuration';
  return { kind: 'refused', message };
}

function registrableOf(commands: readonly CommandNotice[]): readonly CommandNotice[] {
  return commands
    .filter(({ word }) => wordShape.test(word) && word === word.toLowerCase())
    .slice(0, registeredMax);
}

function isSame(one: Registered, { word, description, takesText }: CommandNotice): boolean {
  return one.name === word && one.description === description && one.takesText === takesText;
}

function wireOf({
  word,
  description,
  takesText,
}: CommandNotice): RESTPostAPIApplicationCommandsJSONBody {
  const option = { type: stringOption, name: textOption, description: optionText };
  const options = takesText ? [option] : [];
  const where = { contexts, integration_types: integrationTypes };
  return { type: chatInput, name: word, description, options, ...where };
}

const optionText = 'What stands behind it';

/** Names are unique only among commands of the same type. */
function registeredIn(wire: unknown): readonly Registered[] {
  const { id, type = chatInput, name, description, options } = fieldsOf(wire);
  if (type !== chatInput) return [];
  const names = listOf(options).map((one) => fieldsOf(one)['name']);
  const isText = names.every((one) => one === textOption);
  const takesText = isText ? names.length > 0 : null;
  return [{ id: idOf(id), name: textOf(name), description: textOf(description), takesText }];
}

// Deferred responses to slash commands. svc defers a response within 3 s, which shows that it works
// on it, and the first reply completes the response. Format:
// https://discord.com/developers/docs/interactions/receiving-and-responding (API version 10).
//
// svc completes its own deferred response at once. For a response of a former process it first asks
// whether the response still waits. So a later reply to the same command replaces nothing, and a
// reply that already arrived is not sent again. If the response has expired, the reply is a message
// like any other.

const deferMs = 3_000;
/** A callback type: the message follows later. */
const deferredMessage = 5;
/** A flag of a message: its text is still to come. */
const loading = 1 << 7;
const ownMax = 1_000;

export class Deferrals {
  /** By the token of the response: resolves to false if the platform refused to defer it. */
  readonly #own = new Map<string, Promise<boolean>>();

  /** Defers the response. After a failure the reply goes as a message. */
  defer(api: Api, { id, token }: Deferral): void {
    if (this.#own.has(token)) return;
    const route = `/interactions/${id}/${token}/callback` as const;
    const signal = AbortSignal.timeout(deferMs);
    const deferring = api.call('POST', route, { body: { type: deferredMessage }, signal });
    this.#own.set(
      token,
      deferring.then(({ kind }) => kind !== 'refused'),
    );
    const [oldest] = this.#own.keys();
    if (this.#own.size > ownMax && oldest !== undefined) this.#own.delete(oldest);
  }

  /** @returns null: the reply must go as a message */
  async complete(
    api: Api,
    outgoing: Outgoing<Target>,
    signal: AbortSignal,
  ): Promise<Result | null> {
    const { deferred } = outgoing.target;
    if (deferred === undefined) return null;
    const state = await this.#stateOf(api, deferred, signal);
    if (state !== null && isFinalRefusal(state)) return null;
    if (state !== null && state.kind !== 'ok') return state;
    if (state !== null && !isLoading(state.body)) {
      return isShown(state.body, outgoing) ? state : null;
    }
    const { nonce: _nonce, enforce_nonce: _enforced, ...body } = bodyOf(outgoing);
    const result = await this.#put(api, routeOf(deferred), outgoing, body, signal);
    if (isFinalRefusal(result)) {
      this.#own.delete(deferred.token);
      return null;
    }
    if (result.kind === 'ok') this.#own.delete(deferred.token);
    return result;
  }

  async #put(
    api: Api,
    route: `/${string}`,
    { file, text }: Outgoing<Target>,
    body: Body,
    signal: AbortSignal,
  ): Promise<Result> {
    if (file === null) return api.call('PATCH', route, { body, signal });
    const sent = await api.call('PATCH', route, { form: fileForm(file.name, body), signal });
    if (sent.kind !== 'refused' || !refusesFile(sent)) return sent;
    const asCode = { ...body, content: codeAsMarkdown(text, textUnitsMax) };
    return api.call('PATCH', route, { body: asCode, signal });
  }

  /**
   * The platform's state of the response; null: this process deferred it and has not completed it.
   */
  async #stateOf(api: Api, deferred: Deferred, signal: AbortSignal): Promise<Result | null> {
    const deferring = this.#own.get(deferred.token);
    if (deferring !== undefined && (await deferring)) return null;
    return api.call('GET', routeOf(deferred), { signal });
  }
}

/** The response waits for its text. */
function isLoading(original: unknown): boolean {
  return (Number(fieldsOf(original)['flags']) & loading) !== 0;
}

/** Whether a former process already sent this reply, but ended before it knew. */
function isShown(original: unknown, { refers: isFirst, text, file }: Outgoing<Target>): boolean {
  const { content, attachments } = fieldsOf(original);
  if (!isFirst) return false;
  if (file === null) return textOf(content) === text.trim();
  return listOf(attachments).some((one) => fieldsOf(one)['filename'] === file.name);
}

/** Whether this refusal is final for every later try. */
function isFinalRefusal(result: Result): boolean {
  if (result.kind !== 'refused') return false;
  return result.status >= 400 && result.status < 500 && result.status !== 429;
}

function routeOf({ application, token }: Deferred) {
  return `/webhooks/${application}/${token}/messages/@original` as const;
}

// Files: https://discord.com/developers/docs/reference#uploading-files

type Body = RESTPostAPIChannelMessageJSONBody;

/** The body's text as a file with that name. */
export function fileForm(name: string, { content = '', ...body }: Body) {
  const attachments = [{ id: 0, filename: name }];
  return multipart([
    { name: 'payload_json', value: JSON.stringify({ ...body, attachments }) },
    { name: 'files[0]', value: content, file: { name, type: 'text/plain; charset=utf-8' } },
  ]);
}

const missingPermissions = 50_013;

/** The file is too large or malformed, or the bot may write but not attach files. */
export function refusesFile({ status, code }: Refused): boolean {
  return status === 413 || status === 400 || code === missingPermissions;
}
