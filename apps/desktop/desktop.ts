/**
 * The desktop application: one window for people who do not want a terminal. It has three
 * processes; each may be killed while the others go on:
 *
 * - The shell (`svc desktop`) starts and ends the other two. It has its own page, without a script,
 *   for times when there is no other.
 * - The core is the service (`svc serve`). Before there is a configuration, it is the first run
 *   (`svc internal first-run`).
 * - The window is a webview (`svc internal window`), a Chromium that shows one page, or a tab of
 *   the person's browser.
 *
 * The shell listens on a socket (places.ts). Core and window connect to it, and connect again when
 * a new shell replaces one that is gone. So a core outlives its shell, and the next shell finds it.
 * A second start connects to the socket as well, sends `show`, and ends. A message is one line of
 * JSON (lines.ts). Any process that may open the socket belongs to this user, and is trusted.
 *
 * first_run → starting → serving;  core ended: serving → crashed → starting, or → needs_you;
 * anything → stopping → stopped
 */
import type { KeychainState } from '../../src/domain/keychain-state.ts';

/** The state of the application, for its page and its window. */
export type ApplicationState =
  /** There is no configuration; the first run's pages are at this origin. */
  | { readonly at: 'first_run'; readonly origin: string }
  | { readonly at: 'starting' }
  /** `canWrite`: the configuration has an admin block. */
  | { readonly at: 'serving'; readonly origin: string; readonly canWrite: boolean }
  /**
   * The core ended although nobody asked it to. `nextTryAt`: milliseconds since 1970; null: the
   * shell does not try again.
   */
  | {
      readonly at: 'crashed';
      readonly nextTryAt: number | null;
      /** A sentence on how it ended, and the last lines that it wrote. */
      readonly how: string;
      readonly lastLines: readonly string[];
    }
  /** A restart would not help. */
  | { readonly at: 'needs_you'; readonly why: Stuck }
  | { readonly at: 'stopping' }
  | { readonly at: 'stopped' };

/** Why a core ends with 78 or 2, as plain facts. It holds no value of a secret. */
export type Stuck =
  | { readonly of: 'config'; readonly problems: readonly StuckProblem[] }
  | {
      readonly of: 'secrets';
      readonly missing: readonly MissingHere[];
      /** Whether the keychain could store the missing secrets now, or is locked. */
      readonly keychain: KeychainState;
      /** What the state of the keychain means and what to do about it; null: it is ready. */
      readonly told: string | null;
    }
  /** `field` is the place of the taken address in the configuration. */
  | {
      readonly of: 'address';
      readonly field: string;
      readonly address: string;
      readonly message: string;
    }
  /** Another process uses the database. */
  | { readonly of: 'in_use'; readonly message: string }
  | { readonly of: 'other'; readonly code: string; readonly message: string };

/** A problem of the configuration. `line` counts from 1; 0: the problem has no line. */
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

/** The JSON value of the environment variable `SVC_DESKTOP`, for a core that a shell starts. */
export type CoreOrders = {
  /** The shell's socket. */
  readonly socket: string;
  /** The last port of the pages; 0: there was none. */
  readonly port: number;
  /** The folder of the log files. */
  readonly logFolder: string;
  /**
   * True: the core reads secrets that no keychain keeps from its standard input, as an object of
   * JSON (core/in-memory-secrets.ts).
   */
  readonly lends: boolean;
};

/** Messages from the core. `question` is the number of the shell's question. */
export type FromCore =
  /** The first line of each connection. */
  | {
      readonly kind: 'core';
      readonly role: 'service' | 'first_run';
      readonly pid: number;
      /** The configuration file, absolute. */
      readonly config: string;
    }
  /**
   * Its pages answer at this origin (`http://127.0.0.1:<port>`). Sent again after each connection.
   */
  | { readonly kind: 'at_work'; readonly origin: string; readonly canWrite: boolean }
  /** Someone told the core to end. It finishes its work in hand, and takes no more. */
  | { readonly kind: 'leaving' }
  /** The core is about to end, and a restart would not help. */
  | { readonly kind: 'stuck'; readonly why: Stuck }
  /** The address of a page with a code for one use within 60 s. */
  | { readonly kind: 'offered'; readonly question: number; readonly url: string }
  | { readonly kind: 'granted'; readonly question: number; readonly token: string | null }
  /** A code was used twice: the core signed everybody out, and the shell must move its page. */
  | { readonly kind: 'withdrawn' }
  /** A page that is not signed in asks for a window that is. */
  | { readonly kind: 'show_wanted' }
  /** The first run wrote the file and showed its last page: the shell must start the service. */
  | { readonly kind: 'written' };

export type ToCore =
  /**
   * `page`: the address of the shell's own page, for pages that are signed in. The last message
   * counts.
   */
  | { readonly kind: 'welcome'; readonly page: string }
  | { readonly kind: 'offer'; readonly question: number }
  | { readonly kind: 'grant'; readonly question: number }
  /** Signs everybody out. */
  | { readonly kind: 'withdraw' }
  /** Ends the core as SIGTERM does: it finishes its work in hand. */
  | { readonly kind: 'stop' };

/** The answer to a webview's page that asks to sign in. */
export type SignedIn = {
  /** null: the service is read-only. */
  readonly token: string | null;
  /** The address of the shell's own page; null: there is no shell now. */
  readonly page: string | null;
};

export type FromWindow =
  /** The first line of each connection, sent once the window can be shown. */
  | { readonly kind: 'window'; readonly pid: number; readonly hasTray: boolean }
  | { readonly kind: 'sign_in'; readonly question: number }
  /** A page was loaded completely. */
  | { readonly kind: 'loaded'; readonly url: string }
  /** Nobody answered at this address, so the window shows nothing. */
  | { readonly kind: 'unanswered'; readonly url: string }
  /** The person wants to close the window. It stays open until the shell decides. */
  | { readonly kind: 'closing' }
  | { readonly kind: 'tray'; readonly chose: 'open' | 'quit' }
  /** A page leads to another site, which belongs in the person's browser. */
  | { readonly kind: 'elsewhere'; readonly url: string };

export type ToWindow =
  /** Loads the page and brings the window to the front. */
  | { readonly kind: 'open'; readonly url: string }
  /** With a tray, only the tray stays; without one, the process ends. */
  | { readonly kind: 'hide' }
  | ({ readonly kind: 'signed_in'; readonly question: number } & SignedIn)
  /** One line of text for the tray. */
  | { readonly kind: 'status'; readonly text: string }
  /**
   * The only origins that the window shows and signs in. All other addresses go to the person's
   * browser.
   */
  | { readonly kind: 'origins'; readonly origins: readonly string[] }
  | { readonly kind: 'stop' };

/**
 * The message of a second start. `config`: the absolute path of the file that the person named;
 * null: none.
 */
export type FromStart = { readonly kind: 'show'; readonly config: string | null };
/** `other`: the running application uses another file than the named one. */
export type ToStart =
  | { readonly kind: 'shown' }
  | { readonly kind: 'other'; readonly config: string };

/** The three kinds of window, in the order in which they are tried. */
export const windowKinds = ['webview', 'chromium', 'browser'] as const;
export type WindowKind = (typeof windowKinds)[number];

/** The window as the shell sees it. */
export interface ApplicationWindow extends AsyncDisposable {
  readonly kind: WindowKind;
  /**
   * True: the window asks the shell before it closes. False: svc may not learn that the person
   * closed it.
   */
  readonly asksToClose: boolean;
  /** True: a tray stays while the window is hidden. */
  readonly hasTray: boolean;
  /**
   * Shows the page to the person, in the existing window if possible.
   * @returns null, or a sentence on why it could not
   */
  show(url: string): Promise<string | null>;
  /** Takes the window off the screen. A webview without a tray ends. */
  hide(): Promise<void>;
  status(text: string): void;
  /**
   * Sets the only origins that its pages may come from: the shell's, and the core's once it has
   * one. Call it before a page leads to a new origin.
   */
  trust(origins: readonly string[]): void;
}

/** The events of a window; no handler may throw. */
export type WindowEvents = {
  readonly onLoaded: (url: string) => void;
  /** Nobody answers at the page's address. The window tries again each second, until `show`. */
  readonly onUnanswered: (url: string) => void;
  readonly onClosing: () => void;
  /**
   * The window is gone, but not by `hide` or disposal. `why` is a sentence; null: the person closed
   * it.
   */
  readonly onClosed: (why: string | null) => void;
  readonly onTray: (chose: 'open' | 'quit') => void;
  readonly signIn: () => Promise<SignedIn>;
};

/** What the shell's page shows, and what its buttons do. */
export interface Application {
  readonly state: ApplicationState;
  readonly facts: ApplicationFacts;
  /** Resolves when the state differs from `since`; rejects when the signal aborts. */
  changed(since: ApplicationState, signal: AbortSignal): Promise<void>;
  /**
   * The address of the core's pages: with a code for one use, or for a webview without one. Waits
   * for a core that starts. null: the core does not serve.
   */
  pages(signal: AbortSignal): Promise<string | null>;
  /** Drains the core and starts it again. Resolves when that has begun. */
  restart(): Promise<void>;
  /** Drains and ends the core, then ends the window and the shell. */
  quit(): void;
  setOnClose(choice: OnClose): Promise<void>;
  /**
   * Stores the answer to the question of the page `close`, and acts on it. `keep` hides a window
   * that waits for the answer.
   */
  answerClosing(choice: Exclude<OnClose, 'ask'>): Promise<void>;
  /** @returns null, or a sentence on why not */
  setAutostart(on: boolean): Promise<string | null>;
}

/** What happens to the service when its window is closed. */
export type OnClose = 'ask' | 'keep' | 'quit';

export type ApplicationFacts = {
  readonly version: string;
  /** Absolute. */
  readonly config: string;
  readonly logFile: string;
  readonly window: WindowKind | null;
  readonly onClose: OnClose;
  /** null: svc knows no way to start with the session on this system. */
  readonly autostart: boolean | null;
};
