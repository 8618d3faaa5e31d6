/**
 * Drafts, which a bot shows while it writes a message. Page:
 * https://core.telegram.org/bots/api#sendmessagedraft (Bot API 9.3). Since Bot API 9.5 all bots
 * have it; before, only private chats with topics had it. Others are refused with
 * "TEXTDRAFT_PEER_INVALID" (openclaw#7803, nullclaw#626). A missing id is "RANDOM_ID_INVALID".
 * Order of the checks: process_send_message_draft_query in Client.cpp of tdlib/telegram-bot-api. A
 * draft disappears with the bot's next message in the chat, and 30 s after its writing
 * (pending_text_message_period of tdlib/td).
 */
import type { ChatState } from './chats.ts';
import { fixText, readText, type FormattedText } from './text.ts';
import { integerOf } from './update-queue.ts';
import {
  badRequest,
  fine,
  refuse,
  textOf,
  type Answer,
  type Entity,
  type Params,
  type Refusal,
} from './wire.ts';

/** Who has drafts: everyone today, topics of private chats before, and nobody before that. */
export type DraftsFor = 'everyone' | 'topics' | 'nobody';

export type Draft = {
  readonly chatId: number;
  readonly topic: number | undefined;
  readonly id: number;
  readonly text: string;
  readonly entities: readonly Entity[];
  /** Milliseconds since 1970. */
  readonly at: number;
};

const shownMs = 30_000;

export class Drafts {
  readonly #for: DraftsFor;
  readonly #now: () => number;
  readonly #shown = new Map<number, Draft>();
  /** All drafts, in order. */
  readonly written: Draft[] = [];

  constructor(who: DraftsFor, now: () => number) {
    this.#for = who;
    this.#now = now;
  }

  get isKnown(): boolean {
    return this.#for !== 'nobody';
  }

  /** The unfinished message that the person sees. */
  in(chatId: number): Draft | undefined {
    const draft = this.#shown.get(chatId);
    return draft === undefined || draft.at + shownMs <= this.#now() ? undefined : draft;
  }

  /** The bot has sent a message there. */
  sent(chatId: number): void {
    this.#shown.delete(chatId);
  }

  show({ chat, blocked }: ChatState, topic: number | undefined, params: Params): Answer {
    const read = readDraft(params);
    if ('ok' in read) return read;
    const isPeer = chat.type === 'private' && (this.#for === 'everyone' || topic !== undefined);
    if (!isPeer) return badRequest('TEXTDRAFT_PEER_INVALID');
    if (blocked) return refuse(403, 'Forbidden: bot was blocked by the user');
    const id = integerOf(params['draft_id'], 0);
    if (id === 0) return badRequest('RANDOM_ID_INVALID');
    const fixed = fixDraft(read);
    if ('ok' in fixed) return fixed;
    const draft = { chatId: chat.id, topic, id, ...fixed, at: this.#now() };
    this.written.push(draft);
    this.#shown.set(chat.id, draft);
    return fine(true);
  }
}

const thinking: FormattedText = { text: '', entities: [] };

/** Reads it like a message, but an empty text shows "Thinking…". */
function readDraft(params: Params): FormattedText | Refusal {
  return textOf(params['text']) === '' ? thinking : readText(params);
}

function fixDraft(read: FormattedText): FormattedText | Refusal {
  return read.text.trim() === '' ? thinking : fixText(read);
}
