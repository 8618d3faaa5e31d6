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
  /** The client's port of its connection. */
  readonly port: number;
  /** Its connection ended before its answer. */
  gone: boolean;
  /** The answer; null while the call is open, or if the connection ended without one. */
  answer: Answer | null;
  /** The fake has finished the call, however badly. */
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
  readonly is_direct_messages?: true;
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

/** A text parameter; any other value counts as absent. */
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

/** 400 in the server's words: the first letter is small, unless the second is a capital or `_`. */
export function badRequest(words: string): Refusal {
  const kept = /^.[A-Z_]/.test(words);
  return refuse(
    400,
    `Bad Request: ${kept ? words : words.charAt(0).toLowerCase() + words.slice(1)}`,
  );
}
