/**
 * A kind of channel, as plain facts: what a file may hold of it, what is read from that, and what
 * people are told. It is the pure side of a channel, so a browser runs it as well; what connects
 * and listens is made in `src/app/service.ts` alone.
 *
 * Each kind is one `kind.ts` in the channel's folder, and one line in `registry.ts`.
 */
import type { ListenAddress } from '../config/address.ts';
import type { Field } from '../config/field.ts';
import type { ProblemList } from '../config/problems.ts';
import type { EnvName, SecretFault } from '../config/secret-value.ts';

export type ChannelKind = {
  /** The name in files and keys; a contract for ever. */
  readonly type: string;
  /** What people call the platform. */
  readonly name: string;
  /** What may stand for the type in a file. */
  readonly synonyms: readonly string[];
  /** Its people pass the gate, may be let in by pairing, and are told of for each bot. */
  readonly isMessenger: boolean;
  /** With storage, a message is recognised for so many days as one that came before. */
  readonly dedupeDays: number;
  /** What `mode` must say in the file; null: the field is not written. */
  readonly mode: string | null;
  readonly token: {
    /** What the variable is usually called. */
    readonly variable: string;
    /** What it holds where a person makes it up; null: the platform gives it out. */
    readonly ours: string | null;
    /** How a person comes by one that the platform gives out, a sentence each step. */
    readonly steps: readonly string[];
  };
  /** The id of the bot whose token it is, told without asking; null: it is no token of a bot. */
  botOf?(token: string): string | null;
  /** The fields of a channel that only this kind has. */
  readonly fields: Readonly<Record<string, Field>>;
  /** The fields among them that must be there. */
  readonly requires: readonly string[];
  /** Where it listens; null: it connects to its platform. */
  readonly listener: Listener | null;
  /** The platform is told at the start of a connection which messages of groups are wanted. */
  readonly groupsAtConnect: boolean;
  /**
   * The trusted configuration of what stands in the file.
   * @param document of one channel, without problems
   * @param given says whether the file itself holds a value at a path below the channel
   */
  parse(document: never, given: (path: string) => boolean): ParsedChannel;
  /** Adds what its own fields mean wrongly together. `path` is that of the channel. */
  check?(draft: never, path: string, problems: ProblemList): void;
  /** The variables that its own fields name, each with its path below the channel. */
  secrets?(config: never): readonly OwnSecret[];
  /** Where it posts replies, and the field that says so; a messenger's platform tells more. */
  repliesTo?(config: never): { readonly url: string; readonly field: string };
};

export type OwnSecret = {
  readonly name: EnvName;
  /** Below the channel. */
  readonly path: string;
  /** Why a value cannot be used, without a word of it: "is …"; null: it can. Absent: any can. */
  fault?(value: string): SecretFault | null;
};

/** What every channel's configuration has; that of a listener has `bind` and `path` besides. */
type ParsedChannel = {
  readonly type: string;
  readonly tokenEnv: EnvName;
  readonly bind?: ListenAddress;
  readonly path?: string;
};

/** The block of the file whose `bind` and `path` say where, and what they are by default. */
export type Listener = {
  readonly block: string;
  readonly bind: string;
  readonly path: string;
};
