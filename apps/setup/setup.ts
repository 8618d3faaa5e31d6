/**
 * The first five minutes, from nothing to a service that answers: a model first, a real answer from
 * it, then a channel, its secrets, who may talk, and at the last the file.
 *
 * One pure machine decides what comes next (`steps.ts`), and one place has all that is said
 * (`pages.ts`). A face shows a page, and hands an answer back; it has no sentence and no rule of
 * its own. There are three: the terminal, a page in the browser, which a terminal lets in, and a
 * page in the window of the application. Each opens a session (`openSetup` in `session.ts`) on one
 * world (`createSetupWorld` in `world.ts`).
 *
 * What it promises: nothing is written before the last step; a file that is there is never lost; a
 * page holds no value of a secret, whatever was pasted.
 */

/**
 * What shows the way. `terminal`: one is there, also where a page in the browser shows it.
 * `window`: there is the window of the application alone, and the application begins the service
 * once the way is over.
 */
export type Frontend = 'terminal' | 'window';

/** What a face shows now. Plain data, which may be sent to a browser. */
export type Page = {
  readonly step: StepName;
  readonly title: string;
  readonly lines: readonly Line[];
  /** To be filled in for a choice that takes them. */
  readonly fields: readonly Field[];
  /** The first is what most people want. Empty: there is only to wait, or nothing left to do. */
  readonly choices: readonly Choice[];
  /** What goes on; choices may stand beside it, and taking one gives it up. Null: nothing does. */
  readonly work: Work | null;
};

/** The steps of the way, in order; `last` comes after the file was written, or the way was left. */
export const stepNames = [
  'file',
  'model',
  'answer',
  'channel',
  'secrets',
  'access',
  'write',
  'first_message',
  'last',
] as const;
export type StepName = (typeof stepNames)[number];

/**
 * `code` is to be copied as it stands; `quote` is what a model or a person said, and nothing of
 * svc's own; `good` and `bad` say what something came to.
 */
export type Line = {
  readonly kind: 'text' | 'code' | 'quote' | 'good' | 'bad';
  readonly text: string;
};

export type Field = {
  readonly name: string;
  readonly label: string;
  /** What is typed into a secret one is shown nowhere, and never comes back in a page. */
  readonly kind: 'text' | 'secret';
  /** What stands there at first; empty in a secret one. */
  readonly value: string;
  /** An empty one is an answer too. */
  readonly isOptional: boolean;
};

export type Choice = {
  readonly id: string;
  readonly label: string;
  /** One more sentence for who wonders; null: none. */
  readonly hint: string | null;
  /** Names of the fields that go with it. */
  readonly takes: readonly string[];
  /** `leave` ends the way, and nothing more is written. */
  readonly role: 'forward' | 'skip' | 'back' | 'leave';
};

/** `slow` is said once `slowAfterMs` have passed, beside what is said at once. */
export type Work = {
  readonly text: string;
  readonly slow: { readonly text: string; readonly afterMs: number } | null;
};

/** @param fields by name; those that the choice does not take are left out of account */
export type Answer = {
  readonly choice: string;
  readonly fields: Readonly<Record<string, string>>;
};

/** One person's way. It lives in one process; a browser sees its pages alone. */
export interface SetupSession extends AsyncDisposable {
  /** Counts up with each new page. */
  readonly revision: number;
  readonly page: Page;
  readonly frontend: Frontend;
  /**
   * Whether the way is over and the application is to begin the service: the file is there, and
   * what it needs outlasts this process. Never at a terminal.
   */
  readonly goesOn: boolean;
  /**
   * Takes an answer to the page of this revision; what follows shows as new pages.
   * @returns `stale`: that page is gone; `not_offered`: it has no such choice, or a field that the
   *   choice takes is empty or longer than 4,096 characters
   */
  answer(answer: Answer, revision: number): 'taken' | 'stale' | 'not_offered';
  /** Resolves when the revision is another one; rejects when the signal aborts. */
  changed(since: number, signal?: AbortSignal): Promise<void>;
  /** How the way ended; a service that was started by it has ended by then. Never rejects. */
  readonly ended: Promise<SetupEnd>;
}

/**
 * `left`: nothing was written. `written`: but not started. `served`: it ran until it was stopped.
 */
export type SetupEnd =
  | { readonly kind: 'left' }
  | { readonly kind: 'written' }
  | { readonly kind: 'served' }
  /** It was started and came to an end of its own; the message is svc's own. */
  | { readonly kind: 'failed'; readonly message: string };
