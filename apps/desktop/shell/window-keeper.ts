/**
 * What the window shows, and what becomes of the application when the person closes it.
 *
 * A window that asks first stands until it is told; the first time it is led to the question. One
 * that is just gone (a browser's own) leaves svc as it is, and the question comes with the next
 * one. Where nothing answers in the background, there is nothing to keep: closing ends svc.
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
  /** An address for one use, which leads to where the person should be. */
  readonly offer: () => string;
  /** The shell's own page; it ends with a slash. */
  readonly page: () => string;
  /** The origins that its pages may come from. */
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

/** A window that fell is opened again, and one that falls at once is not. */
const reopenEveryMs = 60_000;

export class WindowSupervisor {
  readonly #options: WindowSupervisorOptions;
  #window: ApplicationWindow | null = null;
  #wantsShow = false;
  #showing: Promise<void> | null = null;
  #owesQuestion = false;
  #reopenedAt: number | null = null;

  constructor(options: WindowSupervisorOptions) {
    this.#options = options;
  }

  get kind(): WindowKind | null {
    return this.#window?.kind ?? null;
  }

  /** What the window tells. */
  readonly events: WindowEvents = {
    onLoaded: () => {},
    onUnanswered: (url) => void this.#unanswered(url),
    onClosing: () => void this.#closing(),
    onClosed: (why) => void this.#closed(why),
    onTray: (chose) => (chose === 'quit' ? this.#options.quit() : void this.show()),
    signIn: () => this.#options.signIn(),
  };

  /** The window is there; what was to be shown meanwhile is shown. */
  async opened(window: ApplicationWindow): Promise<void> {
    this.#window = window;
    this.stateChanged();
    if (this.#wantsShow) await this.show();
  }

  /** Before a page leads to an origin that is new, the window knows it. */
  stateChanged(): void {
    this.#window?.trust(this.#options.origins());
    this.#window?.status(statusLine(this.#options.state()));
  }

  /** For one who starts it: where it is being shown already, that is what they see. */
  showOnce(): Promise<void> {
    return this.#showing ?? this.show();
  }

  /** Shows the person where things stand; where there is no window yet, once there is. */
  async show(): Promise<void> {
    this.#wantsShow = this.#window === null;
    if (this.#window === null) return;
    const isAsking = this.#owesQuestion && this.#keeps() && this.#options.onClose() === 'ask';
    this.#owesQuestion = false;
    await this.#lead(isAsking ? this.#question() : this.#options.offer());
  }

  /** The person has answered that svc is to go on. */
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

  /** Whether the service goes on without a window, or will. */
  #keeps(): boolean {
    const state = this.#options.state();
    if (state.at === 'crashed') return state.nextTryAt !== null;
    return state.at === 'serving' || state.at === 'starting';
  }

  /**
   * The page behind it is gone; the shell's own says what happened, or leads to it again. An
   * address for one use may have been used on the way: tried again it would sign everybody out.
   */
  async #unanswered(url: string): Promise<void> {
    const page = this.#options.page();
    if (!url.startsWith(page)) await this.#lead(`${page}?waited`);
  }

  async #closing(): Promise<void> {
    const choice = this.#keeps() ? this.#options.onClose() : 'quit';
    if (choice === 'quit') return this.#options.quit();
    if (choice === 'keep') await this.hide();
    else await this.#lead(this.#question());
  }

  async #closed(why: string | null): Promise<void> {
    const { log, quit, onClose } = this.#options;
    log.info('window_closed', why ?? 'The window was closed.');
    if (await this.#options.isSessionOver()) return;
    if (why !== null) return this.#reopen();
    if (!this.#keeps() || onClose() === 'quit') return quit();
    this.#owesQuestion = onClose() === 'ask';
  }

  async #reopen(): Promise<void> {
    const now = this.#options.steady();
    if (this.#reopenedAt !== null && now - this.#reopenedAt < reopenEveryMs) return;
    this.#reopenedAt = now;
    await this.show();
  }
}

/** One line for a tray. */
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
