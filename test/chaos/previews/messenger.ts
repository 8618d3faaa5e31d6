/** What the proof of growing replies needs of a messenger, and what it learns from it. */
import type { Script } from '../../fake/model-server.ts';
import type { Program } from '../../support/program.ts';

/** Where people talk with the bot. */
export type Place = { readonly id: string };

/**
 * What svc asked of the platform, whatever it was answered. `message`: the one that is edited.
 * `isSpoiled`: it was answered badly, or not at all.
 */
export type Deed = {
  readonly kind: 'make' | 'edit';
  readonly message: string | null;
  readonly text: string;
  readonly at: number;
  readonly isSpoiled: boolean;
};

/** A message that the bot made. */
export type Made = {
  /** Of this one alone. */
  readonly message: string;
  readonly place: string;
  readonly madeAt: number;
  /** It showed a beginning first. */
  readonly grew: boolean;
  /** As it stands in its place now; null: it was deleted. */
  readonly text: string | null;
  /** Its place in the order is that of what called it, not that of its text. */
  readonly isCalled: boolean;
};

export interface Messenger extends AsyncDisposable {
  readonly name: string;
  /** Of the program. */
  readonly database: string;
  readonly places: readonly Place[];
  /** A reply finds a beginning that no process kept. */
  readonly findsBegun: boolean;
  say(place: Place, number: string): void;
  /** The program, in a process that can be killed. */
  spawn(): Program;
  /** Resolves once a program hears what is said. */
  connected(): Promise<void>;
  /** One of the next calls goes wrong, in a way that chance chooses. */
  spoil(): void;
  /** In its order. */
  deeds(): readonly Deed[];
  /** In the order in which they stand in their places. */
  made(): readonly Made[];
  /** A person deletes it. */
  remove(made: Made): void;
  /** Messages which the platform says that somebody is about to write. */
  waiting(): number;
  /** Resolves with what is found, which is looked for whenever something happens. */
  until<T>(find: () => T | undefined, what: string): Promise<T>;
  /** Resolves once all is read that a process which has ended sent. */
  unconnected(): Promise<void>;
}

export type OpenMessenger = (script: Script, random: () => number) => Promise<Messenger>;

/** What stands behind a text that goes on. */
export const goesOn = ' …';
