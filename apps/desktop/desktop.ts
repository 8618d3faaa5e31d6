/**
 * The desktop application: one window for people who do not want a terminal. Three processes, each
 * of which may be killed while the others go on:
 *
 * - the shell (`svc desktop`) begins and ends the other two, and has a page of its own, without a
 *   script, for when there is no other;
 * - the core is the service (`svc serve`), or before there is a configuration its first run
 *   (`svc internal first-run`);
 * - the window is a webview (`svc internal window`), a Chromium that shows one page, or a tab of
 *   the person's browser.
 *
 * The shell listens on a socket (places.ts). Core and window connect to it, and connect again where
 * a shell is gone and another comes: so a core outlives its shell, and is found by the next one. A
 * second start connects there as well, says `show`, and ends. A message is one line of JSON
 * (lines.ts). Whoever may open the socket is this user, and is trusted.
 *
 * first_run → starting → serving;  core ended: serving → crashed → starting, or → needs_you;
 * anything → stopping → stopped
 */
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import type { Places } from './places.ts';

/** How the application stands, for its page and its window. */
export type ApplicationState =
  /** There is no configuration: the pages of the first run are at this origin. */
  | { readonly at: 'first_run'; readonly origin: string }
  | { readonly at: 'starting' }
  /** `canWrite`: the configuration has an admin block. */
  | { readonly at: 'serving'; readonly origin: string; readonly canWrite: boolean }
  /** It ended without being asked. `nextTryAt`: milliseconds since 1970; null: nothing is tried. */
  | {
      readonly at: 'crashed';
      readonly nextTryAt: number | null;
      /** How it ended, a sentence, and the last lines that it said. */
      readonly how: string;
      readonly lastLines: readonly string[];
    }
  /** No restart would help. */
  | { readonly at: 'needs_you'; readonly why: Stuck }
  | { readonly at: 'stopping' }
  | { readonly at: 'stopped' };

/** Why a core ends with 78 or 2, as plain facts. No value of a secret is in it. */
export type Stuck =
  | { readonly of: 'config'; readonly problems: readonly StuckProblem[] }
  | {
      readonly of: 'secrets';
      readonly missing: readonly MissingHere[];
      /** Whether what is missing could be stored now, or is there and locked. */
      readonly keychain: KeychainState;
      /** What that means and what to do; null where it is ready. */
      readonly told: string | null;
    }
  /** `field` is the place in the configuration whose address is taken. */
  | {
      readonly of: 'address';
      readonly field: string;
      readonly address: string;
      readonly message: string;
    }
  /** Another process has the database. */
  | { readonly of: 'in_use'; readonly message: string }
  | { readonly of: 'other'; readonly code: string; readonly message: string };

/** A problem of the configuration; `line` counts from 1, 0: it is about no line. */
export type StuckProblem = {
  readonly path: string;
  readonly line: number;
  readonly message: string;
  readonly remedy: string;
};

export type MissingHere = {
  readonly name: string;
  readonly usedAt: readonly string[];
  /** A sentence. */
  readonly why: string;
};

/** What the environment variable `SVC_DESKTOP` gives a core that a shell starts, as JSON. */
export type CoreOrders = {
  /** The shell's socket. */
  readonly socket: string;
  /** The port of the pages the last time; 0: there was none. */
  readonly port: number;
  /** Where log lines go. */
  readonly logFolder: string;
  /**
   * Secrets that no keychain keeps come on its standard input as an object of JSON
   * (core/in-memory-secrets.ts).
   */
  readonly lends: boolean;
};

/** `question` is the number that a question of the shell came with. */
export type FromCore =
  /** The first line of each connection. */
  | {
      readonly kind: 'core';
      readonly role: 'service' | 'first_run';
      readonly pid: number;
      /** The configuration file, absolute. */
      readonly config: string;
    }
  /** Its pages answer at this origin (`http://127.0.0.1:<port>`); said again after a connection. */
  | { readonly kind: 'at_work'; readonly origin: string; readonly canWrite: boolean }
  /** It was told to end, by whomever, and finishes what it has in hand; it takes nothing more. */
  | { readonly kind: 'leaving' }
  /** It is about to end, and no restart would help. */
  | { readonly kind: 'stuck'; readonly why: Stuck }
  /** The address of a page with a code for one use within 60 s. */
  | { readonly kind: 'offered'; readonly question: number; readonly url: string }
  | { readonly kind: 'granted'; readonly question: number; readonly token: string | null }
  /** A code came a second time: nobody is signed in, and the shell's page is to move. */
  | { readonly kind: 'withdrawn' }
  /** A page that is not signed in asks for a window that is. */
  | { readonly kind: 'show_wanted' }
  /** The first run wrote the file, and its last page was shown: the service is to begin. */
  | { readonly kind: 'written' };

export type ToCore =
  /** `page`: the shell's own page, which those who are signed in are told of. The last counts. */
  | { readonly kind: 'welcome'; readonly page: string }
  | { readonly kind: 'offer'; readonly question: number }
  | { readonly kind: 'grant'; readonly question: number }
  /** Nobody is signed in any more. */
  | { readonly kind: 'withdraw' }
  /** It ends as by a SIGTERM: what is in hand is finished. */
  | { readonly kind: 'stop' };

/** What a page of a window of its own gets when it asks who it is. */
export type SignedIn = {
  /** null: the service is read-only. */
  readonly token: string | null;
  /** The shell's own page; null: there is no shell now. */
  readonly page: string | null;
};

export type FromWindow =
  /** The first line of each connection, once it can be shown. */
  | { readonly kind: 'window'; readonly pid: number; readonly hasTray: boolean }
  | { readonly kind: 'sign_in'; readonly question: number }
  /** A page was loaded to its end. */
  | { readonly kind: 'loaded'; readonly url: string }
  /** Nobody answered there, so that nothing is shown. */
  | { readonly kind: 'unanswered'; readonly url: string }
  /** The person closes it. It stands until it is told what to do. */
  | { readonly kind: 'closing' }
  | { readonly kind: 'tray'; readonly chose: 'open' | 'quit' }
  /** Its page leads elsewhere: for the person's browser. */
  | { readonly kind: 'elsewhere'; readonly url: string };

export type ToWindow =
  /** Loads it and comes to the front. */
  | { readonly kind: 'open'; readonly url: string }
  /** A tray stays, where there is one; else the process ends. */
  | { readonly kind: 'hide' }
  | ({ readonly kind: 'signed_in'; readonly question: number } & SignedIn)
  /** One line for the tray. */
  | { readonly kind: 'status'; readonly text: string }
  /** All that it shows and signs in; every other address is for the person's browser. */
  | { readonly kind: 'origins'; readonly origins: readonly string[] }
  | { readonly kind: 'stop' };

/** A second start; `config`: the file that was named, absolute; null: none was. */
export type FromStart = { readonly kind: 'show'; readonly config: string | null };
/** `other`: this one runs with another file than the one that was named. */
export type ToStart =
  | { readonly kind: 'shown' }
  | { readonly kind: 'other'; readonly config: string };

/** Which of three things shows the pages. */
export const windowKinds = ['webview', 'chromium', 'browser'] as const;
export type WindowKind = (typeof windowKinds)[number];

/** The window as the shell sees it. */
export interface ApplicationWindow extends AsyncDisposable {
  readonly kind: WindowKind;
  /** Whether it is known when the person closes it, and it can be asked to stand until then. */
  readonly asksToClose: boolean;
  /** A tray stays when it is hidden. */
  readonly hasTray: boolean;
  /**
   * Shows the page to the person, in the window that is there where it can.
   * @returns null, or a sentence on why it could not
   */
  show(url: string): Promise<string | null>;
  /** Takes it off the screen; a webview without a tray ends. */
  hide(): Promise<void>;
  status(text: string): void;
  /**
   * Its pages may come from these origins alone: the shell's, and the core's once it has one. To be
   * called before a page leads there.
   */
  trust(origins: readonly string[]): void;
}

/** What a window tells; none of it may throw. */
export type WindowEvents = {
  readonly onLoaded: (url: string) => void;
  /** Nobody answers where its page led. It is tried again each second, until `show`. */
  readonly onUnanswered: (url: string) => void;
  readonly onClosing: () => void;
  /**
   * It is gone, and nobody here wanted that: `hide` and its disposal are not told. `why` is a
   * sentence where it was not closed by the person.
   */
  readonly onClosed: (why: string | null) => void;
  readonly onTray: (chose: 'open' | 'quit') => void;
  readonly signIn: () => Promise<SignedIn>;
};

export type WindowOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: Pick<Places, 'profile' | 'runtime' | 'socket'>;
  /** The origin of the shell's own pages, `http://127.0.0.1:<port>`; trusted from the beginning. */
  readonly origin: string;
  /** The kind of window that the person chose; null: the first that works here. */
  readonly wanted: WindowKind | null;
  /** True: only a tray may be visible before the first `show`. */
  readonly isHidden: boolean;
  readonly events: WindowEvents;
  /** Writes a sentence to the shell's log: which window it is, and why not another. */
  readonly say: (line: string) => void;
};

/** What the shell's page shows besides the state, and what its buttons do. */
export interface Application {
  readonly state: ApplicationState;
  readonly facts: ApplicationFacts;
  /** Resolves when the state is another one; rejects when the signal aborts. */
  changed(since: ApplicationState, signal: AbortSignal): Promise<void>;
  /**
   * The pages of the core, with a code for one use, or for a webview without one; waits for a core
   * that starts. null: it does not serve.
   */
  pages(signal: AbortSignal): Promise<string | null>;
  /** Ends the core in order and begins it again. Resolves when that is under way. */
  restart(): Promise<void>;
  /** Ends the core in order, then the window and the shell. */
  quit(): void;
  setOnClose(choice: OnClose): Promise<void>;
  /**
   * The answer to the question of `/close`, beside the shell's page: it is kept for the next time,
   * and done. `keep` hides a window that stands until it is answered.
   */
  answerClosing(choice: Exclude<OnClose, 'ask'>): Promise<void>;
  /** @returns null, or a sentence on why not */
  setAutostart(on: boolean): Promise<string | null>;
}

/** What becomes of the service when its window is closed. */
export type OnClose = 'ask' | 'keep' | 'quit';

export type ApplicationFacts = {
  readonly version: string;
  /** Absolute. */
  readonly config: string;
  readonly logFile: string;
  readonly window: WindowKind | null;
  readonly onClose: OnClose;
  /** null: this system has none that svc knows. */
  readonly autostart: boolean | null;
};
