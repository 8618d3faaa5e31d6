/** The application as its page and its window see it, over what keeps the core and the window. */
import type {
  Application,
  ApplicationFacts,
  ApplicationState,
  OnClose,
  SignedIn,
} from '../desktop.ts';
import type { Autostart } from './autostart.ts';
import type { CoreSupervisor } from './core-keeper.ts';
import type { SettingsFile } from './settings.ts';
import type { WindowSupervisor } from './window-keeper.ts';

export type ApplicationDeps = {
  readonly version: string;
  readonly config: string;
  readonly logFile: string;
  readonly core: Pick<CoreSupervisor, 'state' | 'restart' | 'quit'> & {
    readonly link: Pick<CoreSupervisor['link'], 'offer' | 'grant'>;
  };
  readonly window: Pick<WindowSupervisor, 'kind' | 'hide'>;
  readonly settings: SettingsFile;
  readonly autostart: Autostart | null;
};

export class ShellApplication implements Application {
  readonly #deps: ApplicationDeps;
  readonly #watchers = new Set<() => void>();
  #autostart: boolean | null;

  private constructor(deps: ApplicationDeps, autostart: boolean | null) {
    this.#deps = deps;
    this.#autostart = autostart;
  }

  static async make(deps: ApplicationDeps): Promise<ShellApplication> {
    return new ShellApplication(deps, (await deps.autostart?.isOn()) ?? null);
  }

  get state(): ApplicationState {
    return this.#deps.core.state;
  }

  get facts(): ApplicationFacts {
    const { version, config, logFile, window, settings } = this.#deps;
    const { onClose } = settings.now;
    return { version, config, logFile, window: window.kind, onClose, autostart: this.#autostart };
  }

  /** The core stands otherwise now. */
  stateChanged(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const tell of watchers) tell();
  }

  changed(since: ApplicationState, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(asError(signal.reason));
    if (this.state !== since) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const aborted = (): void => {
      this.#watchers.delete(tell);
      reject(asError(signal.reason));
    };
    const tell = (): void => {
      signal.removeEventListener('abort', aborted);
      resolve();
    };
    signal.addEventListener('abort', aborted, { once: true });
    this.#watchers.add(tell);
    return promise;
  }

  async pages(signal: AbortSignal): Promise<string | null> {
    for (let { state } = this; state.at === 'starting'; { state } = this) {
      try {
        await this.changed(state, signal);
      } catch {
        return null;
      }
    }
    const { state } = this;
    if (state.at !== 'serving' && state.at !== 'first_run') return null;
    if (this.#deps.window.kind !== 'webview') return this.#deps.core.link.offer();
    return `${state.origin}/${state.at === 'serving' ? 'ui' : 'setup'}`;
  }

  /** For a page of a window of its own. */
  async signIn(page: string): Promise<SignedIn> {
    return { token: await this.#deps.core.link.grant(), page };
  }

  restart(): Promise<void> {
    this.#deps.core.restart();
    return Promise.resolve();
  }

  quit(): void {
    this.#deps.core.quit();
  }

  async setOnClose(onClose: OnClose): Promise<void> {
    await this.#deps.settings.change({ onClose });
  }

  async answerClosing(choice: Exclude<OnClose, 'ask'>): Promise<void> {
    await this.setOnClose(choice);
    if (choice === 'quit') this.quit();
    else await this.#deps.window.hide();
  }

  async setAutostart(on: boolean): Promise<string | null> {
    const { autostart } = this.#deps;
    if (autostart === null) return 'svc knows no way to start with the session here.';
    const fault = await autostart.set(on);
    this.#autostart = await autostart.isOn();
    return fault;
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
