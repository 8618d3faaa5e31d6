/**
 * The types of the state machine: its state, the effects that it requests, and the events that it
 * receives. All of it is plain data without any value of a secret. Those values are in the session,
 * by name.
 */
import type { ChannelConfig, ChannelType } from '../../src/channels/registry.ts';
import type { AccessConfig, ModelConfig } from '../../src/config/config.ts';
import type { SecretSource } from '../../src/config/found-secret.ts';
import type { JsonObject } from '../../src/config/locate.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import type { Frontend } from './setup.ts';

export type SetupState = Place & {
  /** The places that "back" leads to, the nearest last. Each step occurs at most once. */
  readonly trail: readonly Place[];
  /** The effect to carry out now. A new object is a new request, and cancels the one before. */
  readonly effect: Effect | null;
};

export type Place = {
  readonly step: Step;
  readonly draft: Draft;
  readonly facts: Facts;
};

/** The steps. `said` is the result of the last answer, or of the last try. */
export type Step =
  | { readonly at: 'file' }
  | { readonly at: 'model' }
  | { readonly at: 'vendor' }
  | { readonly at: 'key'; readonly vendor: Vendor; readonly said: string | null }
  | { readonly at: 'answer'; readonly outcome: ModelOutcome | null }
  | { readonly at: 'channel' }
  | { readonly at: 'token'; readonly type: ChannelType; readonly found: TokenFound | null }
  | { readonly at: 'keep' }
  | { readonly at: 'access'; readonly said: string | null }
  | { readonly at: 'review'; readonly said: string | null }
  | { readonly at: 'write'; readonly starts: boolean }
  | { readonly at: 'start'; readonly problem: string | null }
  | { readonly at: 'first'; readonly heard: FirstMessage }
  | { readonly at: 'over'; readonly end: Over };

/** The person's choices so far; null: not chosen yet. */
export type Draft = {
  /**
   * `new`: there is no file yet. `anew`: the new file replaces the existing one, and svc keeps a
   * backup.
   */
  readonly file: 'new' | 'keep' | 'change' | 'anew';
  readonly model: ModelChoice | null;
  readonly channel: ChannelChoice | null;
  readonly access: AccessConfig | null;
  /** Names of secrets whose value was pasted; the session holds the value that was pasted last. */
  readonly pasted: readonly string[];
  /** Where pasted and generated secrets go; null: there are none. */
  readonly keep: 'keychain' | 'by_hand' | null;
};

export type ModelChoice =
  | ModelDraft
  /** The practice model of the demo; it runs as long as this process. */
  | { readonly kind: 'practice' }
  /** The model that the file has. */
  | { readonly kind: 'kept' };

export type ModelDraft = {
  readonly kind: 'model';
  readonly provider: ModelConfig['provider'];
  readonly modelId: string;
  readonly locality: ModelConfig['locality'];
  /** Null: the provider's default. */
  readonly baseUrl: string | null;
  readonly apiKeyEnv: string | null;
};

export type ChannelChoice =
  | { readonly kind: 'channel'; readonly type: ChannelType; readonly bot: string | null }
  | { readonly kind: 'kept' };

/** A vendor that runs models for others and speaks the hosted API. */
export type Vendor = {
  readonly name: string;
  /** Empty: the person types it. */
  readonly baseUrl: string;
  readonly keyEnv: string;
  /** A model to begin with; empty: svc knows none. */
  readonly modelId: string;
};

/** The results of effects; null: svc did not look yet. */
export type Facts = {
  readonly frontend: Frontend;
  readonly file: FileFound | null;
  readonly models: ModelsFound | null;
  readonly place: PlaceFound | null;
  readonly written: Written | null;
  /** The live view of the running service; null: it does not run, or has none. */
  readonly liveView: string | null;
};

/** `path` is written as a person would type it. */
export type FileFound =
  | { readonly kind: 'absent'; readonly path: string }
  | {
      readonly kind: 'there';
      readonly path: string;
      /** Why svc cannot start with it; null: it can. */
      readonly problem: string | null;
      /** Null: the file has a problem, so svc cannot change it. */
      readonly document: JsonObject | null;
      readonly models: readonly string[];
      readonly channels: readonly Pick<ChannelConfig, 'name' | 'type'>[];
    };

export type ModelsFound = {
  /** Models that need no key and answer now. */
  readonly near: readonly ModelDraft[];
  /** Addresses of runtimes that answer, but have no model. */
  readonly empty: readonly string[];
  /** Vendors whose key svc found. */
  readonly keyed: readonly Vendor[];
};

export type ModelOutcome =
  | { readonly kind: 'answer'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy: string | null };

/** `source`: where the token came from. */
export type TokenFound =
  /** There is no value, so svc did not ask the platform. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'known';
      readonly source: SecretSource | 'pasted';
      readonly id: string;
      readonly name: string;
    }
  | {
      readonly kind: 'refused' | 'unreached';
      readonly source: SecretSource | 'pasted';
      readonly message: string;
    };

export type PlaceFound = {
  readonly keychain: KeychainState;
  /** The database of a new file, as the file writes it. */
  readonly database: string;
  /** True: a unit of systemd starts svc with this file. */
  readonly isUnit: boolean;
  /**
   * What is wrong with the keychain and what to do about it, in svc's own words; null: it is ready.
   */
  readonly told: string | null;
  /** Names of secrets whose value svc found. */
  readonly set: readonly string[];
  /** The address to listen on; null: the default, which is free. */
  readonly bind: string | null;
  /** The URL that receives the replies. */
  readonly replies: string;
  /** The address of the admin server; null: the default, which is free. */
  readonly admin: string | null;
  /** The URL of a self-hosted Bot API server; null: the platform's own. */
  readonly platform: string | null;
  /** The URL of the practice model; null: it does not run. */
  readonly practice: string | null;
};

/** The result of waiting for the first message. */
export type FirstMessage =
  | { readonly kind: 'nothing' }
  /**
   * Somebody asks to be let in, and svc gave a code to them alone. `said`: the result of the last
   * code that was typed.
   */
  | { readonly kind: 'asking'; readonly name: string; readonly said: string | null }
  | { readonly kind: 'let_in'; readonly name: string }
  | { readonly kind: 'reply'; readonly said: string; readonly text: string }
  /** `again`: what another try repeats. A failed channel connects anew only in a new start. */
  | { readonly kind: 'problem'; readonly message: string; readonly again: 'start' | 'hear' };

export type Over =
  | { readonly kind: 'left' }
  | { readonly kind: 'written' }
  | { readonly kind: 'serving' }
  /**
   * In a window: the application starts the service, and ends this process's service if it runs.
   */
  | { readonly kind: 'goes_on' }
  /** The service ran, and was stopped. */
  | { readonly kind: 'served' };

export type Written = {
  readonly path: string;
  /** The path of the backup of the former file; null: there was none. */
  readonly backup: string | null;
  /** The command that starts svc, as a person would type it. */
  readonly command: string;
  /** Names of secrets that have no value yet. */
  readonly unset: readonly string[];
};

export type Effect =
  | { readonly kind: 'look_at_file' }
  | { readonly kind: 'look_for_models' }
  | { readonly kind: 'ask_model'; readonly model: ModelChoice }
  | { readonly kind: 'identify'; readonly type: ChannelType }
  | {
      readonly kind: 'look_at_place';
      readonly names: readonly string[];
      readonly practises: boolean;
    }
  | { readonly kind: 'write'; readonly plan: WritePlan }
  | { readonly kind: 'start' }
  /**
   * Sends `says` (null: a greeting) for the person, if svc can; else waits for a message from the
   * person.
   */
  | { readonly kind: 'hear'; readonly type: ChannelType | null; readonly says: string | null }
  /** `name`: the person who probably has this code. */
  | { readonly kind: 'let_in'; readonly code: string; readonly name: string };

/** `document` is the whole file. */
export type WritePlan = {
  readonly document: JsonObject;
  /**
   * True: svc keeps a backup of the existing file. False: there is no file, or nothing is written.
   */
  readonly replaces: boolean;
  /** Names whose values svc generates, unless the person pasted them. */
  readonly make: readonly string[];
  /** Names whose values go into the keychain. */
  readonly store: readonly string[];
  /** Names that the person must set before the next start. */
  readonly unset: readonly string[];
};

/** The result of an effect. */
export type EffectResult =
  | { readonly of: 'look_at_file'; readonly file: FileFound }
  | { readonly of: 'look_for_models'; readonly models: ModelsFound }
  | { readonly of: 'ask_model'; readonly outcome: ModelOutcome }
  | { readonly of: 'identify'; readonly token: TokenFound }
  | { readonly of: 'look_at_place'; readonly place: PlaceFound }
  /** With `problem`, nothing was written. */
  | { readonly of: 'write'; readonly written: Written | { readonly problem: string } }
  /** `liveView`: its URL; null: there is none, or the service did not start. */
  | { readonly of: 'start'; readonly problem: string | null; readonly liveView: string | null }
  | { readonly of: 'hear'; readonly heard: FirstMessage }
  | { readonly of: 'let_in'; readonly heard: FirstMessage };

/**
 * An event of the state machine. For a secret field, `fields` has `pasted`, or an empty text if the
 * field was left empty.
 */
export type SetupEvent =
  | {
      readonly kind: 'chose';
      readonly choice: string;
      readonly fields: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'found'; readonly found: EffectResult };
