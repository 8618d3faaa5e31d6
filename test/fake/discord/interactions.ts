/**
 * Buttons under messages of the fake, presses of them, and their answers. Pages:
 * https://discord.com/developers/docs/components/reference#button and
 * /interactions/receiving-and-responding.
 */
import type { RestAnswer } from './rest.ts';
import { errors, type Channel, type Message, type Snowflake, type User } from './wire.ts';

type Button = {
  readonly type: 2;
  readonly style: number;
  readonly label: string;
  readonly custom_id: string;
};
type Row = { readonly type: 1; readonly components: readonly Button[] };

const [rowsMax, buttonsMax, labelMax, customIdMax] = [5, 5, 80, 100];
/** "You must send an initial response within 3 seconds of receiving the event." */
const answerMs = 3_000;

export type Interaction = {
  readonly id: Snowflake;
  readonly token: string;
  readonly from: User;
  readonly message: Message;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The answer to the press; null: none yet. */
  answer: { readonly type: number; readonly data?: { readonly components?: unknown } } | null;
};

/** The wrong field and the platform's word for the fault; null: no fault. */
export function componentsFault(given: unknown): readonly [string, string] | null {
  if (given === undefined) return null;
  if (!Array.isArray(given) || given.length > rowsMax) return ['BASE_TYPE_BAD_LENGTH', '1 to 5'];
  const seen = new Set<string>();
  for (const { type, components } of given as Row[]) {
    if (type !== 1 || !Array.isArray(components)) return ['UNION_TYPE_CHOICES', 'Choose one of 1.'];
    if (components.length < 1 || components.length > buttonsMax) {
      return ['BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.'];
    }
    for (const { type: kind, style, label, custom_id: id } of components as Button[]) {
      if (kind !== 2 || !(style >= 1 && style <= 4)) return ['UNION_TYPE_CHOICES', 'No button.'];
      if (typeof label !== 'string' || label === '' || label.length > labelMax) {
        return ['BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 80 in length.'];
      }
      if (typeof id !== 'string' || id === '' || id.length > customIdMax) {
        return ['BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 100 in length.'];
      }
      if (seen.has(id))
        return ['COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated'];
      seen.add(id);
    }
  }
  return null;
}

/** The event of a press of the button with that label, on the message that the person sees. */
export function pressOn(
  { message, from, id, token }: Omit<Interaction, 'at' | 'answer'>,
  label: string,
  channel: Channel,
  application: Snowflake,
): object {
  const rows = (message['components'] ?? []) as readonly Row[];
  const button = rows.flatMap(({ components }) => components).find((one) => one.label === label);
  if (button === undefined) throw new Error(`There is no button ${label} under that message.`);
  return {
    ...interactionOf({ id, token, from }, channel, application),
    type: 3,
    message,
    data: { component_type: 2, custom_id: button.custom_id, id: 2 },
  };
}

/** The fields of every interaction. */
export function interactionOf(
  { id, token, from }: Pick<Interaction, 'id' | 'token' | 'from'>,
  channel: Channel,
  application: Snowflake,
): object {
  const { guild_id } = channel;
  const member = { user: from, roles: [], joined_at: null, deaf: false, mute: false, flags: 0 };
  return {
    id,
    application_id: application,
    token,
    version: 1,
    channel,
    channel_id: channel.id,
    context: guild_id === undefined ? 1 : 0,
    locale: 'en-US',
    entitlements: [],
    authorizing_integration_owners: {},
    attachment_size_limit: 10_485_760,
    ...(guild_id === undefined
      ? { user: from }
      : { guild_id, guild_locale: 'en-US', member: { ...member, permissions: '8' } }),
  };
}

/**
 * `POST /interactions/:id/:token/callback`.
 * @param edit changes fields of the message that has the button
 */
export function answerInteraction(
  interactions: readonly Interaction[],
  [, , id, token]: readonly string[],
  body: unknown,
  now: number,
  edit: (message: Message, fields: Partial<Message>) => void,
): RestAnswer {
  const found = interactions.find((one) => one.id === id && one.token === token);
  const refused = (name: 'unknownInteraction' | 'answeredInteraction'): RestAnswer => {
    const [status, code, message] = errors[name];
    return { status, body: { message, code } };
  };
  if (found === undefined || now - found.at > answerMs) return refused('unknownInteraction');
  if (found.answer !== null) return refused('answeredInteraction');
  found.answer = body as NonNullable<Interaction['answer']>;
  const { type, data } = found.answer;
  if (type === 7 && data?.components !== undefined) {
    edit(found.message, { components: data.components });
  }
  return { status: 204, body: undefined };
}
