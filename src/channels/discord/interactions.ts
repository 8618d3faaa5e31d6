/**
 * Presses on buttons. An INTERACTION_CREATE becomes a message, as if the person had written the
 * button's text, and svc answers a press that the ledger took. No intent is needed.
 *
 * Format: https://discord.com/developers/docs/interactions/receiving-and-responding and
 * https://discord.com/developers/docs/components/reference#button (API version 10). The platform
 * wants an answer within 3 s; without one it shows the person that the press failed.
 */
import { isPressable, rowsWithout, rowsOf } from '../messenger/choices.ts';
import type { Choice, Reply } from '../../domain/reply.ts';
import type { ConversationId } from '../../domain/ids.ts';
import type { Setting } from '../../domain/message.ts';
import type { Api } from './api.ts';
import { fieldsOf, idOf, listOf } from './fields.ts';
import { senderOf, targetOf, tokenShape, type WireMessage } from './wire.ts';

/** Where svc answers a press; `token` is valid for this press alone. */
export type Press = {
  readonly id: string;
  readonly token: string;
  readonly setting: Setting;
  /** The buttons of the other questions in the same message. */
  readonly otherRows: Rows;
};

type Rows = readonly (readonly Choice[])[];

const answerMs = 3_000;
const messageComponent = 3;
const button = 2;
/** A context: a chat of people without the bot. */
export const betweenPeople = 2;
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
      ? { type: updateMessage, data: { components: wireOf(otherRows) } }
      : { type: deferredUpdate };
  const route = `/interactions/${id}/${token}/callback` as const;
  void api.post(route, answer, AbortSignal.timeout(answerMs));
}

const actionRow = 1;
const secondary = 2;
const limits = { labelUnitsMax: 80, saysBytesMax: 100 };

/** The buttons of a new message; no field without choices. */
export function componentsOf({ choices }: Reply) {
  const rows = rowsOf(choices, limits);
  return rows.length === 0 ? {} : { components: wireOf(rows) };
}

function wireOf(rows: Rows) {
  return rows.map((row) => ({
    type: actionRow,
    components: row.map(({ label, says }) => {
      return { type: button, style: secondary, label, custom_id: says };
    }),
  }));
}

function rowsIn(components: unknown): Rows {
  return listOf(components).map((row) =>
    listOf(fieldsOf(row)['components']).flatMap((one) => {
      const { label, custom_id: says } = fieldsOf(one);
      return typeof label === 'string' && typeof says === 'string' ? [{ label, says }] : [];
    }),
  );
}
