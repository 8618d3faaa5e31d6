/**
 * Slash commands: svc registers them, and reads the INTERACTION_CREATE of a command as a message,
 * as if the person had written it. Such a message counts as said to the bot.
 *
 * Format: https://discord.com/developers/docs/interactions/application-commands (API version 10).
 */
import type { RESTPostAPIApplicationCommandsJSONBody } from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import type { CommandNotice, OfferedCommands } from '../channel.ts';
import type { MenuOutcome } from '../messenger/command-menu.ts';
import type { Api, ApiResult } from './api.ts';
import { betweenPeople } from './interactions.ts';
import { fieldsOf, idOf, listOf, textOf } from './fields.ts';
import { withNames, senderOf, targetOf, tokenShape, type WireMessage } from './wire.ts';

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
 * @param api null: it is not loaded
 */
export async function publishCommands(
  api: Api | null,
  { commands, own }: OfferedCommands,
  signal: AbortSignal,
): Promise<MenuOutcome> {
  if (api === null) return away;
  const self = await api.get('/applications/@me', signal);
  const application = self.kind === 'ok' ? idOf(fieldsOf(self.body)['id']) : null;
  if (application === null) return away;
  const route = `/applications/${application}/commands` as const;
  const answer = await api.get(route, signal);
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
    outcome = worse(outcome, menuOutcomeOf(await api.delete(`${route}/${id}`, signal)));
  }
  for (const one of wanted.filter((command) => !ours.some((other) => isSame(other, command)))) {
    if (outcome.kind === 'away') return outcome;
    outcome = worse(outcome, menuOutcomeOf(await api.post(route, wireOf(one), signal)));
  }
  return outcome;
}

const away: MenuOutcome = { kind: 'away', retryAfterMs: null };

function worse(before: MenuOutcome, after: MenuOutcome): MenuOutcome {
  return after.kind === 'there' || before.kind === 'away' ? before : after;
}

function menuOutcomeOf(result: ApiResult): MenuOutcome {
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
