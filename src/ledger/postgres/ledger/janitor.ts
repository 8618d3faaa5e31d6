/**
 * Upkeep that one instance does for all: small steps with pauses, on the connection for slow reads.
 * So no message waits for it. It runs until it is disposed of.
 */

/** The pause between two steps while there is more to do. */
const pauseMs = 50;

type Deps = {
  /** @returns whether there may be more to do now */
  readonly step: () => Promise<boolean>;
  /** The pause after the last step, and before the first one: a start has enough to do. */
  readonly everyMs: number;
  /** Whether this instance does the upkeep; absent: it does. */
  readonly isMine?: (() => boolean) | undefined;
};

export class Janitor implements Disposable {
  readonly #deps: Deps;
  #timer: NodeJS.Timeout | null = null;
  #over = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#after(deps.everyMs);
  }

  /** A step that is running ends when its connection closes. */
  [Symbol.dispose](): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #after(ms: number): void {
    if (this.#over) return;
    this.#timer = setTimeout(() => void this.#step(), ms);
  }

  /** A step that fails runs again at the next time; nothing is lost. */
  async #step(): Promise<void> {
    const { isMine = () => true, step, everyMs } = this.#deps;
    const more = isMine() && (await step().catch(() => false));
    this.#after(more ? pauseMs : everyMs);
  }
}
