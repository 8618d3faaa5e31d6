/** An application whose state the test sets. It notes its calls. */
import { EventEmitter, once } from 'node:events';
import type {
  Application,
  ApplicationFacts,
  ApplicationState,
  OnClose,
} from '../../apps/desktop/desktop.ts';

export class FakeApplication implements Application {
  readonly asked: string[] = [];
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #state: ApplicationState = { at: 'starting' };
  facts: ApplicationFacts;
  /** The address of the core's pages; null: the core does not serve. */
  pagesAt: string | null = null;
  /** While set, requests for the pages wait for it. */
  held: Promise<void> | null = null;
  /** The state after a restart. */
  onRestart: ApplicationState = { at: 'starting' };
  /** The system's fault when autostart is switched on; null: it works. */
  autostartFault: string | null = null;
  waiting = 0;

  constructor(facts: Pick<ApplicationFacts, 'config' | 'logFile'>) {
    const rest = { version: '0.0.0', window: 'webview', onClose: 'ask', autostart: false } as const;
    this.facts = { ...rest, ...facts };
  }

  get state(): ApplicationState {
    return this.#state;
  }

  set state(state: ApplicationState) {
    this.#state = state;
    this.#changes.emit('changed');
  }

  async changed(since: ApplicationState, signal: AbortSignal): Promise<void> {
    if (this.#state !== since) return;
    this.waiting++;
    try {
      await once(this.#changes, 'changed', { signal });
    } finally {
      this.waiting--;
    }
  }

  async pages(signal: AbortSignal): Promise<string | null> {
    this.asked.push('pages');
    if (this.held !== null) await Promise.race([this.held, aborted(signal)]);
    return this.pagesAt;
  }

  async restart(): Promise<void> {
    this.asked.push('restart');
    this.state = this.onRestart;
  }

  quit(): void {
    this.asked.push('quit');
  }

  async setOnClose(choice: OnClose): Promise<void> {
    this.asked.push(`on close: ${choice}`);
    this.facts = { ...this.facts, onClose: choice };
  }

  async answerClosing(choice: Exclude<OnClose, 'ask'>): Promise<void> {
    this.asked.push(`closing: ${choice}`);
  }

  async setAutostart(on: boolean): Promise<string | null> {
    this.asked.push(`autostart: ${on}`);
    if (this.autostartFault === null) this.facts = { ...this.facts, autostart: on };
    return this.autostartFault;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => reject(new Error('nobody waits any more'));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
