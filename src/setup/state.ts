/**
 * What the machine knows, what it wants of the outside, and what it is told. All of it is plain
 * data without any value of a secret: those are pasted into the session's pouch, by name.
 */
import type { ChannelType } from '../channel/kinds.ts';
import type { ModelConfig, AccessConfig } from '../config/config.ts';
import type { JsonObject } from '../config/locate.ts';
import type { KeychainState } from '../secrets/secrets.ts';

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

/** Each place to be. `said` is what the last answer came to. */
export type Step =
  | { readonly at: 'file' }
  | { readonly at: 'model'; readonly said: Said | null }
  | { readonly at: 'vendor' }
  | { readonly at: 'key'; readonly vendor: Vendor }
  | { readonly at: 'answer'; readonly outcome: ModelOutcome | null }
  | { readonly at: 'channel' }
  | { readonly at: 'token'; readonly identity: TokenFound | null }
  | { readonly at: 'secret' }
  | { readonly at: 'access' }
  | { readonly at: 'keep' }
  | { readonly at: 'review'; readonly said: Said | null }
  | { readonly at: 'write'; readonly start: boolean }
  | { readonly at: 'start'; readonly problem: string | null }
  | { readonly at: 'first'; readonly heard: Heard }
  | { readonly at: 'over'; readonly end: Over };

export type Said = { readonly kind: 'good' | 'bad'; readonly text: string };

/** What was chosen so far; null: not yet. */
export type Draft = {
  /** `new`: where nothing is; `anew`: beside a backup of what is there. */
  readonly file: 'new' | 'keep' | 'change' | 'anew';
  readonly model: ModelChoice | null;
  readonly channel: ChannelChoice | null;
  readonly access: AccessConfig | null;
  /** Where secrets go that were pasted or are to be made. */
  readonly keep: 'keychain' | 'by_hand' | null;
};

export type ModelChoice =
  | {
      readonly kind: 'model';
      readonly provider: ModelConfig['provider'];
      readonly modelId: string;
      readonly locality: ModelConfig['locality'];
      /** Null: the provider's default. */
      readonly baseUrl: string | null;
      readonly apiKeyEnv: string | null;
    }
  /** The small program of the demo, for as long as this process lives. */
  | { readonly kind: 'practice' }
  /** What the file has. */
  | { readonly kind: 'kept' };

export type ChannelChoice =
  | { readonly kind: 'channel'; readonly type: ChannelType; readonly bot: string | null }
  | { readonly kind: 'kept' };

/** Whoever runs models for others and speaks the hosted API. */
export type Vendor = {
  readonly name: string;
  readonly baseUrl: string;
  readonly keyEnv: string;
  /** A model to begin with; empty: none is known. */
  readonly modelId: string;
};

/** What the outside found; null: not looked yet. */
export type Facts = {
  readonly file: FileFound | null;
  readonly models: ModelsFound | null;
  readonly place: PlaceFound | null;
};

/** `path` is as a person would type it. */
export type FileFound =
  | { readonly kind: 'absent'; readonly path: string }
  | {
      readonly kind: 'there';
      readonly path: string;
      /** Whether svc could start with it; else why not. */
      readonly problem: string | null;
      /** Null: it is no JSON object, so it cannot be changed. */
      readonly document: JsonObject | null;
      readonly models: readonly string[];
      readonly channels: readonly string[];
    };

export type ModelsFound = {
  /** Models that run near, and could be asked now. */
  readonly near: readonly Extract<ModelChoice, { readonly kind: 'model' }>[];
  /** Runtimes that answer, and have no model. */
  readonly empty: readonly string[];
  /** Vendors whose key stands somewhere. */
  readonly keyed: readonly Vendor[];
};

export type ModelOutcome =
  | { readonly kind: 'answer'; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy: string | null };

export type TokenFound =
  | { readonly kind: 'known'; readonly id: string; readonly name: string }
  /** No value stands anywhere, so nobody was asked. */
  | { readonly kind: 'none' }
  | { readonly kind: 'refused' | 'unreached'; readonly message: string };

export type PlaceFound = {
  readonly keychain: KeychainState;
  /** What to do where it is not ready; svc's own. */
  readonly remedy: string | null;
  /** Names whose value stands somewhere already. */
  readonly set: readonly string[];
  /** Addresses that were free; null: the default. */
  readonly bind: string | null;
  readonly replies: string;
  readonly admin: string | null;
};

/** Of the first message. */
export type Heard =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'asking'; readonly name: string; readonly code: string }
  | { readonly kind: 'let_in'; readonly name: string }
  | { readonly kind: 'reply'; readonly said: string; readonly text: string }
  | { readonly kind: 'problem'; readonly message: string };

export type Over =
  | { readonly kind: 'left' }
  | { readonly kind: 'written'; readonly written: Written | null }
  | { readonly kind: 'serving' };

export type Written = {
  readonly path: string;
  /** Where the file of before is; null: there was none. */
  readonly backup: string | null;
  /** What starts it, as a person would type it. */
  readonly command: string;
  /** Lines that set what is not set; a value is never part of one. */
  readonly lines: readonly string[];
};

export type Effect =
  | { readonly kind: 'look_at_file' }
  | { readonly kind: 'look_for_models' }
  | { readonly kind: 'ask_model'; readonly model: ModelChoice }
  | { readonly kind: 'identify'; readonly channel: ChannelType }
  | { readonly kind: 'look_at_place'; readonly names: readonly string[] }
  | { readonly kind: 'write'; readonly plan: WritePlan }
  | { readonly kind: 'start' }
  | { readonly kind: 'hear' }
  | { readonly kind: 'let_in'; readonly code: string };

/** `document` is the whole file; `store` are names of the pouch that go to the keychain. */
export type WritePlan = {
  readonly document: JsonObject;
  readonly replaces: boolean;
  readonly store: readonly string[];
  readonly make: readonly string[];
};
