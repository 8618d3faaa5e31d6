/**
 * Slash commands: what of them is registered, and an INTERACTION_CREATE of one as the facts of a
 * message, as if who chose it had written it. Being chosen from ours, it is said to us.
 *
 * Format: https://discord.com/developers/docs/interactions/application-commands (API version 10).
 */
import type { RESTPostAPIApplicationCommandsJSONBody } from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import type { CommandNotice, OfferedCommands } from '../channel.ts';
import type { Told } from '../messenger/command-menu.ts';
import type { Api, ApiResult } from './api.ts';
import { betweenPeople } from './interactions.ts';
import { fieldsOf, idOf, listOf, textOf } from './fields.ts';
import { withNames } from './mentions.ts';
import { senderOf, targetOf, tokenShape } from './wire.ts';
import type { WireMessage } from './wire.ts';

/** Where the platform is told that an answer comes. */
export type Deferral = { readonly id: string; readonly token: string };

export type Commanded = WireMessage & { readonly deferral: Deferral };

const applicationCommand = 2;
const [chatInput, stringOption] = [1, 3];
const textOption = 'text';
/** In a server, and in the chat with the bot. */
const contexts = [0, 1];
/** Installed to a server. */
const integrationTypes = [0];

/**
 * Reads the `d` of an INTERACTION_CREATE.
 * @returns null for what is no slash command
 */
export function parseCommand(wire: unknown): Commanded | null {
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
    // Nobody who is mentioned in it is named.
    text: typeof value === 'string' ? `/${name} ${withNames(value, {})}` : `/${name}`,
    media: null,
    setting: isDirect ? 'direct' : 'addressed',
    ...(!isDirect && { context: { inGroup: true } }),
    target: targetOf({ place, message: null, deferred: { application, token } }),
    deferral: { id, token },
  };
}

/** What a command may be called here; it stays one where it is not registered. */
const wordShape = /^[-_\p{L}\p{N}]{1,32}$/u;
const shownMax = 100;

/** A command of the application that is registered everywhere. */
type Registered = {
  readonly id: string | null;
  readonly name: string;
  readonly description: string;
  /** Null: it takes something else than svc's do. */
  readonly takesText: boolean | null;
};

/**
 * Registers svc's, one by one: what others have registered for the application stays, also in the
 * place of one of svc's with the same name.
 * @param api null: it is not loaded
 */
export async function tellCommands(
  api: Api | null,
  { commands, own }: OfferedCommands,
  signal: AbortSignal,
): Promise<Told> {
  if (api === null) return away;
  const asked = await api.get('/applications/@me', signal);
  const application = asked.kind === 'ok' ? idOf(fieldsOf(asked.body)['id']) : null;
  if (application === null) return away;
  const route = `/applications/${application}/commands` as const;
  const got = await api.get(route, signal);
  if (got.kind !== 'ok') return toldOf(got);
  const there = listOf(got.body).flatMap(registeredIn);
  const ours = there.filter(({ description, takesText }) => {
    return takesText !== null && own.has(description);
  });
  const others = new Set(there.filter((one) => !ours.includes(one)).map(({ name }) => name));
  const wanted = shownOf(commands).filter(({ word }) => !others.has(word));
  let told: Told = { kind: 'there' };
  for (const { id, name } of ours) {
    if (id === null || wanted.some(({ word }) => word === name)) continue;
    told = worse(told, toldOf(await api.delete(`${route}/${id}`, signal)));
  }
  for (const one of wanted.filter((command) => !ours.some((other) => isSame(other, command)))) {
    if (told.kind === 'away') return told;
    told = worse(told, toldOf(await api.post(route, wireOf(one), signal)));
  }
  return told;
}

const away: Told = { kind: 'away', retryAfterMs: null };

function worse(before: Told, after: Told): Told {
  return after.kind === 'there' || before.kind === 'away' ? before : after;
}

function toldOf(result: ApiResult): Told {
  if (result.kind === 'ok') return { kind: 'there' };
  if (result.kind === 'fault') return away;
  const { status, code, retryAfterMs } = result;
  // A page of what stands between, or a token that is refused, says nothing of the commands.
  const isRefusal = status === 400 || status === 403;
  if (!isRefusal || code === null) return { kind: 'away', retryAfterMs };
  const message =
    `Discord refused a slash command (${status}, ${code}); each can be written all the same. ` +
    'Take words that it does not allow out of session.triggers, and invite the bot with the ' +
    'scope applications.commands; it is told them again at the next start or configuration';
  return { kind: 'refused', message };
}

function shownOf(commands: readonly CommandNotice[]): readonly CommandNotice[] {
  return commands
    .filter(({ word }) => wordShape.test(word) && word === word.toLowerCase())
    .slice(0, shownMax);
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

/** Commands of another kind have names of their own. */
function registeredIn(wire: unknown): readonly Registered[] {
  const { id, type = chatInput, name, description, options } = fieldsOf(wire);
  if (type !== chatInput) return [];
  const names = listOf(options).map((one) => fieldsOf(one)['name']);
  const isText = names.every((one) => one === textOption);
  const takesText = isText ? names.length > 0 : null;
  return [{ id: idOf(id), name: textOf(name), description: textOf(description), takesText }];
}
