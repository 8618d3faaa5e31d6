/**
 * What the machine knows, what it wants of the outside, and what it is told. All of it is plain
 * data without any value of a secret: those are pasted into the session's pouch, by name.
 */
import type { ChannelType } from '../../src/channels/registry.ts';
import type { AccessConfig, ModelConfig } from '../../src/config/config.ts';
import type { SecretSource } from '../../src/config/found-secret.ts';
import type { JsonObject } from '../../src/config/locate.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import type { Frontend } from './setup.ts';

export type SetupState = Place & {
  /** Where "back" leads, the nearest last; a step stands there once at most. */
  readonly trail: readonly Place[];
  /** What the outside is to do now. A new object is a new wish, and gives up the one before. */
  readonly effect: Effect | null;
};

export type Place = {
  readonly step: Step;
  readonly draft: Draft;
  readonly facts: Facts;
};

/** Each place to be. `said` is what the last answer, or the last try, came to. */
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
  | { readonly at: 'first'; readonly heard: Heard }
  | { readonly at: 'over'; readonly end: Over };

/** What was chosen so far; null: not yet. */
export type Draft = {
  /** `new`: where nothing is; `anew`: in the place of what is there, of which a backup is kept. */
  readonly file: 'new' | 'keep' | 'change' | 'anew';
  readonly model: ModelChoice | null;
  readonly channel: ChannelChoice | null;
  readonly access: AccessConfig | null;
  /** Names of secrets that were pasted, and hold what was pasted last. */
  readonly pasted: readonly string[];
  /** Where secrets go that were pasted or are made; null: there are none. */
  readonly keep: 'keychain' | 'by_hand' | null;
};

export type ModelChoice =
  | ModelDraft
  /** The small program of the demo, for as long as this process lives. */
  | { readonly kind: 'practice' }
  /** What the file has. */
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

/** Whoever runs models for others and speaks the hosted API. */
export type Vendor = {
  readonly name: string;
  /** Empty: the person says it. */
  readonly baseUrl: string;
  readonly keyEnv: string;
  /** A model to begin with; empty: none is known. */
  readonly modelId: string;
};

/** What the outside found; null: not looked yet. */
export type Facts = {
  readonly frontend: Frontend;
  readonly file: FileFound | null;
  readonly models: ModelsFound | null;
  readonly place: PlaceFound | null;
  readonly written: Written | null;
  /** Of the service that runs; null: it does not, or has none. */
  readonly liveView: string | null;
};

/** `path` is as a person would type it. */
export type FileFound =
  | { readonly kind: 'absent'; readonly path: string }
  | {
      readonly kind: 'there';
      readonly path: string;
      /** Why svc cannot start with it; null: it can. */
      readonly problem: string | null;
      /** Null: it has a problem, so it cannot be changed. */
      readonly document: JsonObject | null;
      readonly models: readonly string[];
      readonly channels: readonly ChannelType[];
    };

export type ModelsFound = {
  /** Models that could be asked now without a key. */
  readonly near: readonly ModelDraft[];
  /** Addresses of runtimes that answer, and have no model. */
  readonly empty: readonly string[];
  /** Vendors whose key stands somewhere. */
  readonly keyed: readonly Vendor[];
};

export type ModelOutcome =
  | { readonly kind: 'answer'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy: string | null };

/** `source`: where the token came from. */
export type TokenFound =
  /** No value stands anywhere, so nobody was asked. */
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
  /** Of a new file, as it says it. */
  readonly database: string;
  /** A unit of systemd starts svc with the file. */
  readonly isUnit: boolean;
  /** What is so, and what to do, where it is not ready; svc's own. */
  readonly told: string | null;
  /** Names whose value stands somewhere already. */
  readonly set: readonly string[];
  /** The address to listen on; null: the default, which is free. */
  readonly bind: string | null;
  /** Where replies are to go. */
  readonly replies: string;
  /** Of the admin server; null: the default, which is free. */
  readonly admin: string | null;
  /** Of a Bot API server of one's own; null: the platform's. */
  readonly platform: string | null;
  /** Where the practice model listens; null: it does not. */
  readonly practice: string | null;
};

/** What came of the first message. */
export type Heard =
  | { readonly kind: 'nothing' }
  /** Somebody was given a code, which they alone know. `said`: what the last one typed came to. */
  | { readonly kind: 'asking'; readonly name: string; readonly said: string | null }
  | { readonly kind: 'let_in'; readonly name: string }
  | { readonly kind: 'reply'; readonly said: string; readonly text: string }
  | { readonly kind: 'problem'; readonly message: string };

export type Over =
  | { readonly kind: 'left' }
  | { readonly kind: 'written' }
  | { readonly kind: 'serving' }
  /** In a window: the application begins the service, and ends this one where it runs. */
  | { readonly kind: 'goes_on' }
  /** It ran, and was stopped. */
  | { readonly kind: 'served' };

export type Written = {
  readonly path: string;
  /** Where the file of before is now; null: there was none. */
  readonly backup: string | null;
  /** What starts it, as a person would type it. */
  readonly command: string;
  /** Names that stand nowhere yet. */
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
  /** Says `says` (null: a greeting) for the person where it can; else waits for what they say. */
  | { readonly kind: 'hear'; readonly type: ChannelType | null; readonly says: string | null }
  /** `name`: of whom the code is thought to be. */
  | { readonly kind: 'let_in'; readonly code: string; readonly name: string };

/** `document` is the whole file. */
export type WritePlan = {
  readonly document: JsonObject;
  /** A backup of what is there is kept. False: nothing is there, or nothing is written. */
  readonly replaces: boolean;
  /** Names whose values are made, unless they were pasted. */
  readonly make: readonly string[];
  /** Names that go to the keychain. */
  readonly store: readonly string[];
  /** Names that a person has to set before the next start. */
  readonly unset: readonly string[];
};

/** What an effect came to. */
export type Found =
  | { readonly of: 'look_at_file'; readonly file: FileFound }
  | { readonly of: 'look_for_models'; readonly models: ModelsFound }
  | { readonly of: 'ask_model'; readonly outcome: ModelOutcome }
  | { readonly of: 'identify'; readonly token: TokenFound }
  | { readonly of: 'look_at_place'; readonly place: PlaceFound }
  /** A problem: nothing was written. */
  | { readonly of: 'write'; readonly written: Written | { readonly problem: string } }
  /** `liveView`: where it is; null: there is none, or it did not start. */
  | { readonly of: 'start'; readonly problem: string | null; readonly liveView: string | null }
  | { readonly of: 'hear'; readonly heard: Heard }
  | { readonly of: 'let_in'; readonly heard: Heard };

/**
 * What happens to a state. Of a secret field `fields` says `pasted`, or nothing where it was left
 * empty.
 */
export type SetupEvent =
  | {
      readonly kind: 'chose';
      readonly choice: string;
      readonly fields: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'found'; readonly found: Found };
