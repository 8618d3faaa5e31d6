/** The interface of a messenger for the proof of growing replies. */
import type { Script } from '../../fake/model-server.ts';
import type { Program } from '../../support/program.ts';

/** A place where people talk with the bot. */
export type Place = { readonly id: string };

/**
 * A request of svc to the platform, with any answer. `message`: the one that is edited.
 * `isSpoiled`: the answer was bad, or missing.
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
  /** Its id. */
  readonly message: string;
  readonly place: string;
  readonly madeAt: number;
  /** It was a preview first. */
  readonly grew: boolean;
  /** Its present text; null: it was deleted. */
  readonly text: string | null;
  /** Its command decides its place in the order, not the time of its text. */
  readonly isCalled: boolean;
};

export interface Messenger extends AsyncDisposable {
  readonly name: string;
  /** Of the program. */
  readonly database: string;
  readonly places: readonly Place[];
  /** A reply finds a preview that no process stored. */
  readonly findsBegun: boolean;
  say(place: Place, number: string): void;
  /** Starts the program in a process that can be killed. */
  spawn(): Program;
  /** Resolves once a program receives messages. */
  connected(): Promise<void>;
  /** One of the next calls fails in a random way. */
  spoil(): void;
  /** In the order of the requests. */
  deeds(): readonly Deed[];
  /** In the order in which people see them. */
  made(): readonly Made[];
  /** A person deletes it. */
  remove(made: Made): void;
  /** The number of messages that the platform shows as still being written. */
  waiting(): number;
  /** Calls `find` at each event; resolves with its result. */
  until<T>(find: () => T | undefined, what: string): Promise<T>;
  /** Resolves once the platform has read everything that an ended process sent. */
  unconnected(): Promise<void>;
}

export type OpenMessenger = (script: Script, random: () => number) => Promise<Messenger>;

/** The end of a text that goes on. */
export const goesOn = ' …';
