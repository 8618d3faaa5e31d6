/**
 * The first run: it leads a person from no configuration to a service that answers. It asks for a
 * model first and shows a real answer from it. Then it asks for a channel, its secrets and who may
 * talk, and writes the file last.
 *
 * The steps are one pure state machine (`steps.ts`), and one file has all the texts (`pages.ts`). A
 * frontend shows a page and hands back an answer; it has no text and no rule of its own. There are
 * three frontends: the terminal, a page in the browser that a terminal lets in, and a page in the
 * application's window. Each opens a session (`openSetup` in `session.ts`) on one world
 * (`createSetupWorld` in `world.ts`).
 *
 * Promises:
 * - The last step writes; no step before it does.
 * - An existing file is never lost.
 * - A page holds no value of a secret.
 */

/**
 * Which program shows the steps. `terminal`: there is a terminal, even if a page in the browser
 * shows the steps. `window`: there is only the application's window, and the application starts the
 * service after the last step.
 */
export type Frontend = 'terminal' | 'window';

/** The page that a frontend shows now. Plain data, which may be sent to a browser. */
export type Page = {
  readonly step: StepName;
  readonly title: string;
  readonly lines: readonly Line[];
  /** The person fills these in for a choice that takes them. */
  readonly fields: readonly Field[];
  /**
   * The first is the one that most people want. Empty: the person can only wait, or nothing is left
   * to do.
   */
  readonly choices: readonly Choice[];
  /** The work in progress; null: none. Taking a choice cancels the work. */
  readonly work: Work | null;
};

/** The steps, in order. `last` comes after the file is written, or after the person left. */
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
 * `code`: text to copy as it is. `quote`: words of a model or a person, never of svc. `good` and
 * `bad`: the result of something.
 */
export type Line = {
  readonly kind: 'text' | 'code' | 'quote' | 'good' | 'bad';
  readonly text: string;
};

export type Field = {
  readonly name: string;
  readonly label: string;
  /** A page never shows the text of a `secret` field, and never sends it back. */
  readonly kind: 'text' | 'secret';
  /** The initial value; empty for a secret field. */
  readonly value: string;
  /** True: the field may stay empty. */
  readonly isOptional: boolean;
};

export type Choice = {
  readonly id: string;
  readonly label: string;
  /** One more sentence of explanation; null: none. */
  readonly hint: string | null;
  /** Names of the fields that are sent with this choice. */
  readonly takes: readonly string[];
  /** `leave` ends the first run, and svc writes nothing more. */
  readonly role: 'forward' | 'skip' | 'back' | 'leave';
};

/** Frontends show `text` at once, and add `slow.text` after `slow.afterMs` milliseconds. */
export type Work = {
  readonly text: string;
  readonly slow: { readonly text: string; readonly afterMs: number } | null;
};

/** @param fields values by field name; fields that the choice does not take are ignored */
export type Answer = {
  readonly choice: string;
  readonly fields: Readonly<Record<string, string>>;
};

/** One person's first run. It lives in one process; a browser sees only its pages. */
export interface SetupSession extends AsyncDisposable {
  /** Grows by one with each new page. */
  readonly revision: number;
  readonly page: Page;
  readonly frontend: Frontend;
  /**
   * True: the first run is over and the application should start the service. The file exists, and
   * everything that it needs outlasts this process. Always false at a terminal.
   */
  readonly goesOn: boolean;
  /**
   * Takes an answer to the page of this revision; the results appear as new pages.
   * @returns `stale`: that page is gone; `not_offered`: the page has no such choice, or a field
   *   that the choice takes is empty or longer than 4,096 characters
   */
  answer(answer: Answer, revision: number): 'taken' | 'stale' | 'not_offered';
  /** Resolves when the revision differs from `since`; rejects when the signal aborts. */
  changed(since: number, signal?: AbortSignal): Promise<void>;
  /** How the first run ended. A service that it started has ended by then. Never rejects. */
  readonly ended: Promise<SetupEnd>;
}

/**
 * `left`: nothing was written. `written`: the file was written, but the service was not started.
 * `served`: the service ran until it was stopped.
 */
export type SetupEnd =
  | { readonly kind: 'left' }
  | { readonly kind: 'written' }
  | { readonly kind: 'served' }
  /** The service was started and ended by itself; the message is svc's own. */
  | { readonly kind: 'failed'; readonly message: string };
