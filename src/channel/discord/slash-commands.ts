/**
 * Slash commands: what of them is registered, and an INTERACTION_CREATE of one as the facts of a
 * message, as if who chose it had written it. Being chosen from ours, it is said to us.
 *
 * Format: https://discord.com/developers/docs/interactions/application-commands (API version 10).
 */
import type { RESTPutAPIApplicationCommandsJSONBody } from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import type { CommandNotice } from '../channel.ts';
import { CommandMenu } from '../command-menu.ts';
import type { Api } from './api.ts';
import { betweenPeople } from './interactions.ts';
import { fieldsOf, idOf, listOf } from './fields.ts';
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

/** What of a command the platform is told. */
type Shown = readonly {
  readonly name: string;
  readonly description: string;
  readonly takesText: boolean;
}[];

/** What a command may be called here; it stays one where it is not registered. */
const wordShape = /^[-_\p{L}\p{N}]{1,32}$/u;
const shownMax = 100;

/** In the order of their names: the platform keeps one of its own. */
export function shownOf(commands: readonly CommandNotice[]): Shown {
  return commands
    .filter(({ word }) => wordShape.test(word) && word === word.toLowerCase())
    .slice(0, shownMax)
    .map(({ word, description, takesText }) => ({ name: word, description, takesText }))
    .toSorted(byName);
}

/** Those of the application, everywhere. @param api null: it is not loaded */
export function createCommandMenu(api: () => Api | null): CommandMenu<Shown> {
  let application: string | null = null;
  const routeOn = async (on: Api, signal: AbortSignal) => {
    if (application === null) {
      const asked = await on.get('/applications/@me', signal);
      application = asked.kind === 'ok' ? idOf(fieldsOf(asked.body)['id']) : null;
    }
    return application === null ? null : (`/applications/${application}/commands` as const);
  };
  return new CommandMenu<Shown>({
    read: async (signal) => {
      const on = api();
      const route = on && (await routeOn(on, signal));
      const got = on && route && (await on.get(route, signal));
      return got?.kind === 'ok' ? listOf(got.body).map(shownIn).toSorted(byName) : null;
    },
    write: async (wanted, signal) => {
      const on = api();
      const route = on && (await routeOn(on, signal));
      const set = on && route && (await on.put(route, wanted.map(registered), signal));
      return set?.kind === 'ok';
    },
  });
}

function byName(a: Shown[number], b: Shown[number]): number {
  return a.name < b.name ? -1 : 1;
}

function registered({
  name,
  description,
  takesText,
}: Shown[number]): RESTPutAPIApplicationCommandsJSONBody[number] {
  const option = { type: stringOption, name: textOption, description: optionText };
  const options = takesText ? [option] : [];
  return {
    type: chatInput,
    name,
    description,
    options,
    contexts,
    integration_types: integrationTypes,
  };
}

const optionText = 'What stands behind it';

/** Another kind of command, or one with other options, is none that we would show. */
function shownIn(wire: unknown): Shown[number] {
  const { type = chatInput, name, description, options } = fieldsOf(wire);
  const names = listOf(options).map((one) => fieldsOf(one)['name']);
  const isOurs = type === chatInput && names.every((one) => one === textOption);
  return {
    name: isOurs ? String(name) : '',
    description: String(description),
    takesText: names.length > 0,
  };
}
