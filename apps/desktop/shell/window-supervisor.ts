/**
 * Decides what the window shows, and what happens to the application when the person closes it.
 *
 * A window that asks first stays open until the shell decides; the first time, the shell shows the
 * question in it. A browser's window is just gone: svc goes on, and the next window shows the
 * question. If nothing answers in the background, closing the window ends svc.
 */
import type { Log } from '../../../src/lib/log.ts';
import type {
  ApplicationState,
  ApplicationWindow,
  OnClose,
  SignedIn,
  WindowEvents,
  WindowKind,
} from '../desktop.ts';

export type WindowSupervisorOptions = {
  /** An address for one use. It leads to the page that the person should see now. */
  readonly offer: () => string;
  /** The address of the shell's own page, with a slash at its end. */
  readonly page: () => string;
  /** The origins that the window's pages may come from. */
  readonly origins: () => readonly string[];
  readonly state: () => ApplicationState;
  readonly onClose: () => OnClose;
  readonly quit: () => void;
  readonly signIn: () => Promise<SignedIn>;
  /** Whether the person's session is over. */
  readonly isSessionOver: () => Promise<boolean>;
  readonly log: Log;
  readonly steady: () => number;
};

/** A crashed window is opened again, but not if it crashes again within this time. */
const reopenEveryMs = 60_000;

export class WindowSupervisor {
  readonly #options: WindowSupervisorOptions;
  #window: ApplicationWindow | null = null;
  #wantsShow = false;
  #showing: Promise<void> | null = null;
  #isQuestionDue = false;
  /** Pending while svc finds out whether a closed window went with the session. */
  #sessionCheck: Promise<boolean> | null = null;
  #reopenedAt: number | null = null;

  constructor(options: WindowSupervisorOptions) {
    this.#options = options;
  }

  get kind(): WindowKind | null {
    return this.#window?.kind ?? null;
  }

  /** The handlers for the window's events. */
  readonly events: WindowEvents = {
    onLoaded: () => {},
    onUnanswered: (url) => void this.#unanswered(url),
    onClosing: () => void this.#closing(),
    onClosed: (why) => void this.#closed(why),
    onTray: (chose) => (chose === 'quit' ? this.#options.quit() : void this.show()),
    signIn: () => this.#options.signIn(),
  };

  /** The window is open; a page that was requested before is shown now. */
  async opened(window: ApplicationWindow): Promise<void> {
    this.#window = window;
    this.stateChanged();
    if (this.#wantsShow) await this.show();
  }

  /** Tells the window its origins before a page leads to a new one. */
  stateChanged(): void {
    this.#window?.trust(this.#options.origins());
    this.#window?.status(statusLine(this.#options.state()));
  }

  /** For a second start: if the window is being shown already, this waits for it. */
  showOnce(): Promise<void> {
    return this.#showing ?? this.show();
  }

  /**
   * Shows the page that the person should see now. Without a window yet, it is shown once there is
   * one.
   */
  async show(): Promise<void> {
    this.#wantsShow = this.#window === null;
    if (this.#window === null) return;
    // A start right after the close must see the question that the close leaves.
    if (this.#sessionCheck !== null) await this.#sessionCheck;
    const isAsking =
      this.#isQuestionDue && this.#goesOnWithoutWindow() && this.#options.onClose() === 'ask';
    this.#isQuestionDue = false;
    await this.#lead(isAsking ? this.#question() : this.#options.offer());
  }

  /** Hides the window after the person chose that svc goes on. */
  async hide(): Promise<void> {
    if (this.#window?.asksToClose === true) await this.#window.hide();
  }

  async #lead(url: string): Promise<void> {
    const leading = this.#load(url);
    this.#showing = leading;
    await leading;
    if (this.#showing === leading) this.#showing = null;
  }

  async #load(url: string): Promise<void> {
    this.#window?.trust(this.#options.origins());
    const fault = await this.#window?.show(url);
    if (fault) this.#options.log.error('window_not_shown', fault);
  }

  #question(): string {
    return `${this.#options.page()}close`;
  }

  /** Whether the service goes on without a window now, or will soon. */
  #goesOnWithoutWindow(): boolean {
    const state = this.#options.state();
    if (state.at === 'crashed') return state.nextTryAt !== null;
    return state.at === 'serving' || state.at === 'starting';
  }

  /**
   * The server of the page is gone. The shell's page says what happened, or leads to the page
   * again. It never retries an address for one use: a second use would sign everybody out.
   */
  async #unanswered(url: string): Promise<void> {
    const page = this.#options.page();
    if (!url.startsWith(page)) await this.#lead(`${page}?waited`);
  }

  async #closing(): Promise<void> {
    const choice = this.#goesOnWithoutWindow() ? this.#options.onClose() : 'quit';
    if (choice === 'quit') return this.#options.quit();
    if (choice === 'keep') await this.hide();
    else await this.#lead(this.#question());
  }

  async #closed(why: string | null): Promise<void> {
    const { log, quit, onClose } = this.#options;
    log.info('window_closed', why ?? 'The window was closed.');
    this.#sessionCheck = this.#options.isSessionOver();
    const isSessionOver = await this.#sessionCheck;
    this.#sessionCheck = null;
    if (isSessionOver) return;
    if (why !== null) return this.#reopen();
    if (!this.#goesOnWithoutWindow() || onClose() === 'quit') return quit();
    this.#isQuestionDue = onClose() === 'ask';
  }

  async #reopen(): Promise<void> {
    const now = this.#options.steady();
    if (this.#reopenedAt !== null && now - this.#reopenedAt < reopenEveryMs) return;
    this.#reopenedAt = now;
    await this.show();
  }
}

/** One line of text for a tray. */
export function statusLine(state: ApplicationState): string {
  switch (state.at) {
    case 'first_run':
      return 'svc is being set up';
    case 'starting':
      return 'svc starts';
    case 'serving':
      return 'svc answers';
    case 'crashed':
      return state.nextTryAt === null ? 'svc has stopped by itself' : 'svc starts again soon';
    case 'needs_you':
      return 'svc needs you';
    case 'stopping':
      return 'svc ends';
    case 'stopped':
      return 'svc has ended';
    default:
      return state satisfies never;
  }
}
