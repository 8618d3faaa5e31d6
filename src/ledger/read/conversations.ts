/** A conversation and its turns, as their rows tell them. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { ConversationRow, TurnText } from '../../domain/story.ts';
import type { ConversationIdCipher } from './id-cipher.ts';
import { takeoverOf } from './stored-json.ts';

/** Times are milliseconds since 1970. */
export type Span = { readonly firstAt: number; readonly lastAt: number };
/** The turns that are kept; without turns there are no times. */
export type SpokenRecord = Span & { readonly turns: number; readonly session: number | null };
/** What is kept of it besides its turns. */
export type CutRecord = Span & { readonly session: number };
/** What is not settled. */
export type WaitingRecord = Span & { readonly count: number };

/** At most so many cuts are told: the newest. */
export const cutsMax = 500;

/** @returns a row without finite times where nothing is kept */
export function conversationOf(
  idCipher: ConversationIdCipher,
  where: { readonly channel: string; readonly conversation: string },
  spoken: SpokenRecord,
  cut: CutRecord | null,
  waiting: WaitingRecord | null,
): ConversationRow {
  const seen = [spoken.turns > 0 ? spoken : null, cut, waiting];
  const spans = seen.filter((one) => one !== null);
  const { channel, conversation } = where as { channel: ChannelKey; conversation: ConversationId };
  return {
    id: idCipher.idOf({ channel, conversation }),
    channel,
    conversation,
    turns: spoken.turns,
    sessions: Math.max(1, spoken.session ?? 1, cut?.session ?? 1),
    firstAt: Math.min(...spans.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...spans.map(({ lastAt }) => lastAt)),
    waiting: waiting?.count ?? 0,
  };
}

/** `handTrace`: the trace of a turn that an operator answered, as it is kept. */
export type SpokenTurn = Omit<TurnText, 'byHand'> & { readonly handTrace: string | null };

/** @param record may hold more than is told */
export function turnText(record: SpokenTurn): TurnText {
  const { channel, conversation, messageId, session, at, sender, text, reply, model } = record;
  // Nobody's message is a quoted block.
  const answered = sender === null || messageId === '' ? null : messageId;
  const told = { channel, conversation, messageId: answered, session, at, sender, text, reply };
  return { ...told, model, byHand: takeoverOf(record.handTrace) };
}
