/**
 * Ids: 22 characters of lower-case Crockford base32, 10 of time (milliseconds) and 12 random.
 * Within one process ids only grow, so sorting by id is sorting by birth.
 */
declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

export type MessageId = Branded<string, 'MessageId'>;
export type ReplyId = Branded<string, 'ReplyId'>;
export type ApprovalId = Branded<string, 'ApprovalId'>;
/**
 * One connection to one platform: the channel's type, and on messengers `:` and the bot's id. A
 * channel with a name of its own has the name and `@` before its type (`intake@webhook`).
 */
export type ChannelKey = Branded<string, 'ChannelKey'>;
/**
 * The requests of API clients (`completions` in the configuration). It is a key and a registered
 * name like that of a channel, and no channel of the file may have it.
 */
export const completionsChannel = 'completions' as ChannelKey;
/** What the completions API writes before a message's id, in the id of its answer. */
export const completionIdPrefix = 'chatcmpl-';
/** The conversation id in its text form, unique within a channel. */
export type ConversationId = Branded<string, 'ConversationId'>;
/** `provider/model_id`: how a model is named in traces, metrics and `policy.order`. */
export type ModelName = Branded<string, 'ModelName'>;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeDigits = 10;
const randomDigits = 12;
const wholeId = /^[0-9a-hjkmnp-tv-z]{22}$/;
/** Every pair of digits as text, so that an id joins half as many strings. */
const pairs = Array.from(
  { length: 1_024 },
  (_, pair) => alphabet[pair >> 5]! + alphabet[pair & 31]!,
);

export type IdSource = {
  message(): MessageId;
  reply(): ReplyId;
  /** From now on new ids are greater than this one, too. It may come from an earlier process. */
  startAfter(id: string): void;
};

/**
 * Makes a source of increasing ids.
 * @param now milliseconds since 1970; a clock that goes backward is held at its highest value
 * @param random fills the given bytes with random ones
 */
export function createIdSource(
  now: () => number,
  random: (bytes: Uint8Array<ArrayBuffer>) => void,
): IdSource {
  const pool = new Uint8Array(randomDigits * 64);
  const digits = new Uint8Array(randomDigits);
  let used = pool.length;
  let lastMs = -1;
  let time = '';
  const begin = (ms: number): void => {
    lastMs = ms;
    time = timeText(ms);
    if (used === pool.length) {
      random(pool);
      used = 0;
    }
    for (let i = 0; i < randomDigits; i++) digits[i] = pool[used + i]! & 31;
    used += randomDigits;
  };
  const next = (): string => {
    const ms = Math.floor(now());
    if (ms > lastMs) begin(ms);
    else increment(digits);
    return text();
  };
  const text = (): string => {
    let joined = time;
    for (let i = 0; i < randomDigits; i += 2) joined += pairs[digits[i]! * 32 + digits[i + 1]!]!;
    return joined;
  };
  const startAfter = (id: string): void => {
    // A new random part: two processes that start after the same id must not continue alike.
    if (wholeId.test(id) && id > text()) begin(timeOfId(id) + 1);
  };
  return { message: () => next() as MessageId, reply: () => next() as ReplyId, startAfter };
}

/** @param bot the bot's id on the platform; null: the channel is no messenger */
export function channelKeyOf(
  { name, type }: { readonly name: string; readonly type: string },
  bot: string | null,
): ChannelKey {
  const named = name === type ? type : `${name}@${type}`;
  return (bot === null ? named : `${named}:${bot}`) as ChannelKey;
}

/** The name by which routes, grants and metrics know the channel. Without a name it is the type. */
export function registeredNameOf(key: ChannelKey): string {
  const end = key.search(/[@:]/);
  return end < 0 ? key : key.slice(0, end);
}

/** The type of a channel. */
export function channelTypeOf(key: ChannelKey): string {
  const typed = key.slice(key.indexOf('@') + 1);
  const colon = typed.indexOf(':');
  return colon < 0 ? typed : typed.slice(0, colon);
}

/** The id of the messenger's bot; null: the key has none. */
export function botOf(key: ChannelKey): string | null {
  const colon = key.indexOf(':');
  return colon < 0 ? null : key.slice(colon + 1);
}

/** The id of the message that a person means; the id of an API answer names its message. */
export function messageIdIn(written: string): string {
  return written.startsWith(completionIdPrefix)
    ? written.slice(completionIdPrefix.length)
    : written;
}

/** The milliseconds since 1970 that an id carries. */
export function timeOfId(id: string): number {
  let ms = 0;
  for (let i = 0; i < timeDigits; i++) ms = ms * 32 + alphabet.indexOf(id[i] ?? '0');
  return ms;
}

/** The ten digits that begin every id of that millisecond. */
export function timeText(ms: number): string {
  let rest = ms;
  let text = '';
  for (let i = 0; i < timeDigits; i++) {
    text = alphabet[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

const givenCharactersMax = 1_024;
/** A database index on ids has room for this many bytes. */
const givenBytesMax = 2_048;
/** PostgreSQL stores each of these characters as seven bytes. */
const longWhenStored = /[\0\uE000]/g;

/** Why svc takes no such id of a sender or a conversation, after the id's name; null: it does. */
export function faultOfGivenId(id: string): string | null {
  if (id.length > givenCharactersMax) return `has more than ${givenCharactersMax} characters`;
  // Half a surrogate pair has no UTF-8 form: two such ids could become one in storage.
  if (!id.isWellFormed()) return 'holds half a surrogate pair';
  const storedBytes = new TextEncoder().encode(id.replaceAll(longWhenStored, '1234567')).length;
  return storedBytes > givenBytesMax ? `has more than ${givenBytesMax} bytes` : null;
}

/** Adds one to the random part. Its 60 bits do not overflow within one millisecond. */
function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    if (digits[i]! < 31) {
      digits[i]!++;
      return;
    }
    digits[i] = 0;
  }
}
