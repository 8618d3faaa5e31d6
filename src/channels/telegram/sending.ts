/**
 * Sends replies to Telegram (https://core.telegram.org/bots/api#sendmessage). One try sends one
 * reply; each part of a cut text is one reply.
 *
 * A refusal that names its cause is repaired in the same try. svc sends again without the
 * formatting, the buttons, the topic or the answered message; as a new message; as text; or to the
 * chat that the group became. All other failures go to the delivery schedule. A send without a seen
 * end may have arrived, and Telegram does not recognise repeats. So svc tries it once more, marked,
 * at a time when a relay may have come back, and then stops. The answer of a gateway itself does
 * not tell the end either.
 */
import { failure, type Failure, type FailureKind } from '../../domain/failure.ts';
import { isFirstPart, type Attempt, type DeliveryOutcome, type Reply } from '../../domain/reply.ts';
import { spread } from '../../lib/backoff.ts';
import { rowsOf } from '../messenger/choices.ts';
import { platformWords } from '../../domain/upstream-words.ts';
import type { BotApi, CallResult, Refused } from './bot-api.ts';
import { markupOf, parseTarget, type Rows, type Target } from './wire.ts';
import { format, type Entity, type Formatted, type Lexer } from './markdown.ts';
import type { Admission, RateLimiter } from './rate-limits.ts';
import {
  contentOf,
  deleteMessage,
  isUnsure,
  sendModeOf,
  repairEdit,
  repairSendMode,
  messageText,
  numberOf,
  parseMessageText,
  placeFields,
  put,
  messageRefusals,
  type SendMode,
} from './place-reply.ts';

const tryMs = 15_000;
/** In UTF-16 units. */
export const textMax = 4_096;

/** The pause before the second send after an unseen end: 20 to 60 s. */
const unseenPause = { ms: 40_000, share: 0.5 };

export type SendDeps = {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly rateLimiter: RateLimiter;
  readonly token: string;
  readonly random: () => number;
  /** Called with the message that was sent or edited, as `messageText` names it. */
  readonly sent?: (message: string) => void;
};

/** Never throws. */
export async function send(
  { api, lexer, rateLimiter, token, random, sent }: SendDeps,
  reply: Reply,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const target = parseTarget(reply.address);
  if (target === null) return dead(failure('rejected', { detail: 'its address cannot be read' }));
  // Only the first part of a cut reply refers to the answered message.
  const place = isFirstPart(reply) ? target : { ...target, replyTo: null };
  const outgoing = outgoingOf(reply, lexer, place);
  for (let tries = 1; ; tries++) {
    // Only this try knows the repairs. If it were sent away, the next one would be refused again.
    const admission = await rateLimiter.admit(
      outgoing.chat,
      signal,
      tries === 1 ? undefined : tryMs,
    );
    if (admission.kind !== 'go') return outcomeOfAdmission(admission);
    const payload = payloadOf(outgoing);
    const result = await put(api, outgoing, payload, tryMs, signal);
    if (result.kind === 'done') {
      const number = outgoing.edits ?? numberOf(result.result);
      if (number !== null) sent?.(messageText({ chat: outgoing.chat, number }));
      return { kind: 'delivered' };
    }
    if (result.kind === 'fault') return outcomeOfFault(result, attempt, random);
    // After a 429 to a reply the platform takes no other reply either.
    if (result.status === 429) rateLimiter.pauseFor(result.retryAfterMs ?? 0);
    if (tries >= triesMax || !repair(outgoing, result)) {
      const said = platformWords(result.description, token, [reply.text, outgoing.text]);
      const more = { status: result.status, ...(said !== null && { said }) };
      // An edit makes no second message.
      const isUnseen = outgoing.edits === null && isEndUnseen(result);
      // A relay shows its page for as long as its other side is away.
      const mayBeLast = result.status === 504;
      if (isUnseen) return outcomeOfUnseen('server_error', more, attempt, mayBeLast, random);
      return outcomeOfRefusal(result, more);
    }
  }
}

/**
 * Deletes the message that the reply replaces, if a late edit may still change it. The reply is
 * then sent as a new message. If the message cannot be deleted, svc edits it like any other. Never
 * throws.
 * @returns the reply to send; or an outcome if it cannot be sent now
 */
export async function withoutUnsure(
  api: BotApi,
  reply: Reply,
  signal: AbortSignal,
): Promise<{ readonly kind: 'ready'; readonly reply: Reply } | DeliveryOutcome> {
  const { replaces, ...rest } = reply;
  const message = replaces !== undefined && isUnsure(replaces) ? parseMessageText(replaces) : null;
  if (message === null) return { kind: 'ready', reply };
  const result = await deleteMessage(api, message, signal);
  if (result.kind === 'done') return { kind: 'ready', reply: rest };
  if (result.kind === 'fault') return retry(failure(result.fault));
  const stays = messageRefusals.has(result.status);
  if (stays) return { kind: 'ready', reply: { ...reply, replaces: messageText(message) } };
  return outcomeOfRefusal(result, { status: result.status });
}

function outcomeOfAdmission(admission: Exclude<Admission, { kind: 'go' }>): DeliveryOutcome {
  if (admission.kind === 'later') return { kind: 'paced', pauseMs: admission.ms, asked: null };
  return retry(failure('cancelled'));
}

/** The first send, and one more for each thing that svc can repair. */
const triesMax = 8;

/** The message to send; a refusal can change it. */
type OutgoingText = SendMode & {
  chat: number;
  thread: number | null;
  replyTo: number | null;
  text: string;
  entities: readonly Entity[];
  /** The Markdown itself, which svc sends if Telegram refuses the entities. */
  source: string;
  keyboard: Rows;
};

/** Telegram names no limit for a label; the text of a button has at most 64 bytes. */
const buttonLimits = { labelUnitsMax: 64, saysBytesMax: 64 };

function outgoingOf(reply: Reply, lexer: Lexer, target: Target): OutgoingText {
  const { text: source, choices } = reply;
  const mode = sendModeOf(reply, target.chat);
  const keyboard = rowsOf(choices, buttonLimits);
  const { text, entities } = mode.file ? unformatted(source) : fitted(source, lexer);
  return { ...target, ...mode, text, entities, source, keyboard };
}

function unformatted(text: string): Formatted {
  return { text, entities: [] };
}

/** The text with its formatting, or without it if that does not fit. */
export function fitted(source: string, lexer: Lexer): Formatted {
  const formatted = format(source, lexer);
  const fits = formatted.text !== '' && formatted.text.length <= textMax;
  return fits ? formatted : unformatted(source);
}

function payloadOf(outgoing: OutgoingText) {
  return { ...placeFields(outgoing), ...contentOf(outgoing), ...markupOf(outgoing.keyboard) };
}

/** The words of today's servers, and of older ones that ignore `allow_sending_without_reply`. */
const answeredIsGone =
  /message to be replied not found|reply message not found|reply_message_id_invalid/i;

/** Removes the refused part. @returns whether another try may help */
function repair(outgoing: OutgoingText, refused: Refused): boolean {
  const { status } = refused;
  if (repairSendMode(outgoing, refused, textMax)) return true;
  return (status === 400 && repairContent(outgoing, refused)) || repairEdit(outgoing, refused);
}

function repairContent(outgoing: OutgoingText, { description, migrateToChat }: Refused): boolean {
  if (migrateToChat !== null && migrateToChat !== outgoing.chat) {
    outgoing.chat = migrateToChat;
    // The new chat numbers its messages anew.
    outgoing.replyTo = null;
    return true;
  }
  if (outgoing.thread !== null && /thread not found/i.test(description)) {
    outgoing.thread = null;
    return true;
  }
  if (outgoing.replyTo !== null && answeredIsGone.test(description)) {
    outgoing.replyTo = null;
    return true;
  }
  if (outgoing.entities.length > 0 && /entit|can't parse/i.test(description)) {
    outgoing.entities = [];
    outgoing.text = outgoing.source;
    return true;
  }
  if (outgoing.keyboard.length > 0 && /button|keyboard|reply.?markup/i.test(description)) {
    outgoing.keyboard = [];
    return true;
  }
  return false;
}

function outcomeOfFault(
  { fault, sent }: Extract<CallResult, { kind: 'fault' }>,
  attempt: Attempt,
  random: () => number,
): DeliveryOutcome {
  if (sent && fault !== 'cancelled') return outcomeOfUnseen(fault, {}, attempt, true, random);
  return retry(failure(fault), sent);
}

/**
 * Whether the message may have been sent. A 504 means that a gateway passed it on and stopped
 * waiting. A relay's own page means that it hardly did. A 503 means that it did not.
 */
export function isEndUnseen({ status, description }: Refused): boolean {
  return status === 504 || (status >= 500 && status !== 503 && description === '');
}

/** `said`: the platform's words, scrubbed. */
type RefusalFacts = { readonly status?: number; readonly said?: string };

/** @param mayBeLast whether a second unseen end is final */
function outcomeOfUnseen(
  kind: FailureKind,
  more: RefusalFacts,
  { possibleDuplicate }: Attempt,
  mayBeLast: boolean,
  random: () => number,
): DeliveryOutcome {
  if (possibleDuplicate && mayBeLast) return dead(finalFailure(failure(kind, more)));
  const retryAfterMs = Math.round(spread(unseenPause.ms, unseenPause.share, random));
  return retry(failure(kind, { ...more, retryAfterMs }), true);
}

function finalFailure(why: Failure): Failure {
  return { ...why, detail: `${why.detail}; it may have arrived, so it is not sent again` };
}

function outcomeOfRefusal({ status, retryAfterMs }: Refused, facts: RefusalFacts): DeliveryOutcome {
  const more = { ...facts, retryAfterMs };
  if (status === 403) {
    const detail = 'the person blocked the bot, or it may not write there';
    return dead(failure('gone', { ...facts, detail }));
  }
  // For example, the token was revoked. Once it is corrected, waiting replies go out.
  if (status === 401 || status === 404) return retry(failure('unauthorized', facts));
  if (status === 429) {
    return { kind: 'paced', pauseMs: retryAfterMs ?? 0, asked: failure('rate_limited', more) };
  }
  if (status === 503) return retry(failure('overloaded', more));
  if (status >= 500) return retry(failure('server_error', more));
  if (status < 400) return retry(failure('redirected', facts));
  if (status === 409) return retry(failure('overloaded', more));
  return dead(failure('rejected', facts));
}

function retry(why: Failure, mayHaveArrived = false): DeliveryOutcome {
  return { kind: 'retry', failure: why, mayHaveArrived };
}

function dead(why: Failure): DeliveryOutcome {
  return { kind: 'dead', failure: why };
}
