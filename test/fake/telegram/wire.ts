/**
 * Shapes of the Telegram Bot API that the fake speaks.
 * Page: https://core.telegram.org/bots/api (Making requests; Available types).
 */

export type Params = Readonly<Record<string, unknown>>;

export type Refusal = {
  readonly ok: false;
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
};
export type Answer =
  | { readonly ok: true; readonly result: unknown; readonly description?: string }
  | Refusal;

export type TelegramCall = {
  readonly method: string;
  readonly params: Params;
  readonly at: number;
  /** Of the connection by which it came, at its other end. */
  readonly port: number;
  /** Its connection ended before its answer. */
  gone: boolean;
  /** What was answered; null while it is open, and when the connection ended without an answer. */
  answer: Answer | null;
  /** The fake is through with it, however badly it was answered. */
  over: boolean;
};

/** https://core.telegram.org/bots/api#user */
export type User = {
  readonly id: number;
  readonly is_bot: boolean;
  readonly first_name: string;
  readonly last_name?: string;
  readonly username?: string;
  readonly language_code?: string;
};

/** https://core.telegram.org/bots/api#chat */
export type Chat = {
  readonly id: number;
  readonly type: 'private' | 'group' | 'supergroup' | 'channel';
  readonly title?: string;
  readonly first_name?: string;
  readonly username?: string;
  readonly is_forum?: true;
};

/** https://core.telegram.org/bots/api#messageentity */
export type Entity = {
  readonly type: string;
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
  readonly language?: string;
  readonly user?: User;
};

/** https://core.telegram.org/bots/api#message; the fields that the fake sets by itself. */
export type Message = {
  readonly message_id: number;
  readonly date: number;
  readonly chat: Chat;
  readonly from?: User;
  readonly sender_chat?: Chat;
  readonly text?: string;
  readonly entities?: readonly Entity[];
  readonly message_thread_id?: number;
  readonly is_topic_message?: true;
  readonly reply_to_message?: Message;
  readonly edit_date?: number;
  readonly link_preview_options?: unknown;
  readonly [field: string]: unknown;
};

export const fine = (result: unknown, description?: string): Answer =>
  description === undefined ? { ok: true, result } : { ok: true, result, description };

/** A parameter that is a text; any other is as if it were not there. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Descriptions are those of the published server, github.com/tdlib/telegram-bot-api. */
export const refuse = (
  code: number,
  description: string,
  parameters?: Refusal['parameters'],
): Refusal => ({
  ok: false,
  error_code: code,
  description,
  ...(parameters !== undefined && { parameters }),
});

/** 400 as the server words it: the first letter small, unless the second is a capital or `_`. */
export function badRequest(words: string): Refusal {
  const kept = /^.[A-Z_]/.test(words);
  return refuse(
    400,
    `Bad Request: ${kept ? words : words.charAt(0).toLowerCase() + words.slice(1)}`,
  );
}
