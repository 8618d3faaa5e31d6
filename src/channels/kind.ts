/**
 * The contract of a kind of channel: its fields in the file, their parser, and texts about it. This
 * is the pure side of a channel, so that a browser can run it. `src/app/service.ts` makes the side
 * that connects and listens.
 *
 * Each kind is one `kind.ts` in the channel's folder, and one line in `registry.ts`.
 */
import type { ListenAddress } from '../config/address.ts';
import type { Field } from '../config/field.ts';
import type { ProblemList } from '../config/problems.ts';
import type { EnvName, SecretFault } from '../config/secret-value.ts';

export type ChannelKind = {
  /** The name in configuration files and in the ledger's keys. It never changes. */
  readonly type: string;
  /** The platform's name for people. */
  readonly name: string;
  /** Other names for the type that a file may use. */
  readonly synonyms: readonly string[];
  /** Its senders pass the gate, and pairing can let them in. svc reports on each bot. */
  readonly isMessenger: boolean;
  /** For how many days svc recognises a message that comes again, with storage. */
  readonly dedupeDays: number;
  /** The only value of `mode` in the file; null: the field must be absent. */
  readonly mode: string | null;
  readonly token: {
    /** The usual name of the variable. */
    readonly variable: string;
    /** What the token is, if a person makes it up; null: the platform issues it. */
    readonly ours: string | null;
    /** How to get a token that the platform issues: one sentence for each step. */
    readonly steps: readonly string[];
  };
  /** Whether an id of a topic means one topic, or one in each chat; null: there are no topics. */
  readonly topics: 'unique' | 'of_each_chat' | null;
  /** Reads the ids that routes may name from a conversation's id. */
  placeOf(conversation: string): ConversationPlace;
  /** Reads the bot's id from its token, without a request; null: this is not a bot's token. */
  botOf?(token: string): string | null;
  /** The fields of a channel that only this kind has. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Which of these fields are required. */
  readonly requires: readonly string[];
  /** Where the channel listens; null: it connects to its platform. */
  readonly listener: Listener | null;
  /** A connection tells the platform at its start which group messages svc wants. */
  readonly groupsAtConnect: boolean;
  /**
   * Makes the trusted configuration of one channel.
   * @param document the channel's part of a document without problems
   * @param given whether the file itself holds a value at a path below the channel
   */
  parse(document: never, given: (path: string) => boolean): ParsedChannel;
  /** Adds the problems that the kind's own fields have together. `path` is the channel's. */
  check?(draft: never, path: string, problems: ProblemList): void;
  /** The variables that the kind's own fields name. */
  secrets?(config: never): readonly OwnSecret[];
  /** The URL that replies are POSTed to, and its field. A messenger has none. */
  repliesTo?(config: never): { readonly url: string; readonly field: string };
};

/** `topic` null: the conversation is no topic or thread. */
export type ConversationPlace = { readonly chat: string; readonly topic: string | null };

export type OwnSecret = {
  readonly name: EnvName;
  /** The path of the field below the channel. */
  readonly path: string;
  /** Why a value cannot be used; null: it can. Absent: every value can be used. */
  fault?(value: string): SecretFault | null;
};

/** The fields of every channel's configuration. Only a listener has `bind` and `path`. */
type ParsedChannel = {
  readonly type: string;
  readonly tokenEnv: EnvName;
  readonly bind?: ListenAddress;
  readonly path?: string;
};

/** The block of the file that has `bind` and `path`, and the defaults of these two. */
export type Listener = {
  readonly block: string;
  readonly bind: string;
  readonly path: string;
};
