/**
 * Presses on buttons, and slash commands. An INTERACTION_CREATE becomes a message, as if the person
 * had written the button's text or the command. svc answers an interaction that the ledger took. No
 * intent is needed.
 *
 * Format: https://discord.com/developers/docs/interactions/receiving-and-responding (API version
 * 10). The platform wants an answer within 3 s; without one it shows the person that it failed.
 */
import type {
  RESTPostAPIApplicationCommandsJSONBody,
  RESTPostAPIChannelMessageJSONBody,
} from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import type { Setting } from '../../domain/message.ts';
import { fieldsOf, listOf, textOf, type Fields } from '../../lib/json.ts';
import { multipart } from '../../lib/pinned-client.ts';
import type { CommandNotice } from '../channel.ts';
import { isPressable, rowsWithout, type Rows } from '../messenger/choices.ts';
import type { Menu, MenuOutcome } from '../messenger/command-menu.ts';
import type { Outgoing } from '../messenger/platform.ts';
import { codeAsMarkdown } from '../messenger/splitting.ts';
import type { Api, Refused, Result } from './api.ts';
import {
  bodyOf,
  button,
  componentsOf,
  idOf,
  rowsIn,
  senderOf,
  targetOf,
  textUnitsMax,
  tokenShape,
  withNames,
  type Deferred,
  type Target,
  type WireMessage,
} from './wire.ts';

/** Where svc answers an interaction; `token` is valid for this one alone. */
type Callback = { readonly id: string; readonly token: string };

/** `otherRows`: the buttons of the other questions in the same message. */
type Press = Callback & { readonly setting: Setting; readonly otherRows: Rows };

const messageComponent = 3;
const applicationCommand = 2;
/** A context: a chat of people without the bot. */
const betweenPeople = 2;
/** Types of answers: a message that follows later, no change, or a changed message. */
const answers = { deferredMessage: 5, deferredUpdate: 6, updateMessage: 7 } as const;
const answerMs = 3_000;

/** Calls back. Never rejects. */
function answer(api: Api, { id, token }: Callback, body: object): Promise<Result> {
  const route = `/interactions/${id}/${token}/callback` as const;
  return api.call('POST', route, { body, signal: AbortSignal.timeout(answerMs) });
}

/** `press`, `deferral`: the message comes from an interaction, which svc answers so. */
export type IncomingMessage = WireMessage & {
  readonly press?: Press;
  readonly deferral?: Callback;
};

/** Reads what the types share. @returns null: it is of another type, or of no person */
function interactionOf(fields: Fields, type: number) {
  if (fields['type'] !== type || fields['context'] === betweenPeople) return null;
  const [id, place] = [fields['id'], fields['channel_id']].map(idOf);
  const isDirect = idOf(fields['guild_id']) === null;
  const sender = senderOf(isDirect ? fields['user'] : fieldsOf(fields['member'])['user']);
  const token = textOf(fields['token']);
  if (!id || !place || sender === null || !tokenShape.test(token)) return null;
  const said = { id, conversation: place as ConversationId, sender, media: null };
  const setting: Setting = isDirect ? 'direct' : 'addressed';
  const data = fieldsOf(fields['data']);
  return { said: { ...said, setting }, callback: { id, token }, place, isDirect, data };
}

// Presses. Format: https://discord.com/developers/docs/components/reference#button

/**
 * Reads the `d` of an INTERACTION_CREATE.
 * @param self the bot's own user id
 * @returns null: this is no press on a button of svc
 */
export function parsePress(
  wire: unknown,
  self: string,
): (WireMessage & { readonly press: Press }) | null {
  const fields = fieldsOf(wire);
  const interaction = interactionOf(fields, messageComponent);
  if (interaction === null) return null;
  const { said, callback, place, isDirect, data } = interaction;
  const { component_type: type, custom_id: says } = data;
  const under = fieldsOf(fields['message']);
  const rows = rowsIn(under['components']);
  const message = idOf(under['id']);
  if (type !== button || message === null) return null;
  if (fieldsOf(under['author'])['id'] !== self) return null;
  if (!isPressable(says, rows)) return null;
  return {
    ...said,
    text: says,
    target: targetOf({ place, message: isDirect ? null : message }),
    press: { ...callback, setting: said.setting, otherRows: rowsWithout(says, rows) },
  };
}

/**
 * Answers a press that the ledger took. In a direct chat the buttons of the question go. In a
 * server they stay, since the person who pressed may have no right to decide. A failure changes
 * nothing.
 */
export function acknowledge(api: Api, press: Press): void {
  const changed = { components: componentsOf(press.otherRows) };
  const isDirect = press.setting === 'direct';
  const { deferredUpdate, updateMessage } = answers;
  const body = isDirect ? { type: updateMessage, data: changed } : { type: deferredUpdate };
  void answer(api, press, body);
}

// Slash commands: svc registers them, and a command counts as said to the bot. Format:
// https://discord.com/developers/docs/interactions/application-commands (API version 10).

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
export function parseCommand(
  wire: unknown,
): (WireMessage & { readonly deferral: Callback }) | null {
  const fields = fieldsOf(wire);
  const interaction = interactionOf(fields, applicationCommand);
  const application = idOf(fields['application_id']);
  if (interaction === null || application === null) return null;
  const { said, callback, place, isDirect, data } = interaction;
  const { type, name, options } = data;
  if (type !== chatInput || typeof name !== 'string' || !wordShape.test(name)) return null;
  const { value } = fieldsOf(listOf(options).find((one) => fieldsOf(one)['name'] === textOption));
  return {
    ...said,
    // The event has no names for mentioned people.
    text: typeof value === 'string' ? `/${name} ${withNames(value, {})}` : `/${name}`,
    ...(!isDirect && { context: { inGroup: true } }),
    target: targetOf({ place, message: null, deferred: { application, token: callback.token } }),
    deferral: callback,
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
  menu: Menu,
  signal: AbortSignal,
): Promise<MenuOutcome> {
  const self = await api.call('GET', '/applications/@me', { signal });
  const application = self.kind === 'ok' ? idOf(fieldsOf(self.body)['id']) : null;
  if (application === null) return away;
  const route = `/applications/${application}/commands` as const;
  const got = await api.call('GET', route, { signal });
  if (got.kind !== 'ok') return menuOutcomeOf(got);
  const registered = listOf(got.body).flatMap(registeredIn);
  const ours = registered.filter(({ name, description, takesText }) => {
    return takesText !== null && menu.isOwn({ word: name, description });
  });
  const others = new Set(registered.filter((one) => !ours.includes(one)).map(({ name }) => name));
  const wanted = menu.commands
    .filter(({ word }) => wordShape.test(word) && word === word.toLowerCase())
    .filter(({ word }) => !others.has(word))
    .slice(0, Math.max(0, registeredMax - others.size));
  if (!(await menu.keep(wanted))) return away;
  let outcome: MenuOutcome = { kind: 'there' };
  // Two of one name come from two requests at the same moment (discord-api-docs#6571).
  const kept = wanted.map((command) => {
    return (
      ours.find((one) => isSame(one, command)) ?? ours.find((one) => one.name === command.word)
    );
  });
  for (const { id } of ours) {
    if (id === null || kept.some((other) => other?.id === id)) continue;
    outcome = worse(outcome, menuOutcomeOf(await api.call('DELETE', `${route}/${id}`, { signal })));
  }
  for (const one of wanted.filter((command) => !ours.some((other) => isSame(other, command)))) {
    if (outcome.kind === 'away') return outcome;
    const made = await api.call('POST', route, { body: wireOf(one), signal });
    outcome = worse(outcome, menuOutcomeOf(made));
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

function isSame(one: Registered, { word, description, takesText }: CommandNotice): boolean {
  return one.name === word && one.description === description && one.takesText === takesText;
}

function wireOf({ word, description, takesText }: CommandNotice) {
  const option = { type: stringOption, name: textOption, description: optionText };
  const options = takesText ? [option] : [];
  const where = { contexts, integration_types: integrationTypes };
  const body = { type: chatInput, name: word, description, options, ...where };
  return body satisfies RESTPostAPIApplicationCommandsJSONBody;
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

/** A flag of a message: its text is still to come. */
const loading = 1 << 7;
const ownMax = 1_000;

export class Deferrals {
  /** By the token of the response: resolves to false if the platform refused to defer it. */
  readonly #own = new Map<string, Promise<boolean>>();

  /** Defers the response. After a failure the reply goes as a message. */
  defer(api: Api, deferral: Callback): void {
    if (this.#own.has(deferral.token)) return;
    const deferring = answer(api, deferral, { type: answers.deferredMessage });
    this.#own.set(
      deferral.token,
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
