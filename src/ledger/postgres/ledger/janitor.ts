/**
 * What one instance does for all, now and then and in small steps with pauses, on the connection
 * that reads: never in a message's way. It goes on until it is disposed of.
 */
const pauseMs = 50;

type Deps = {
  /** @returns whether there may be more to do now */
  readonly step: () => Promise<boolean>;
  /** How long nothing is done once there is no more. A start has enough to do, too. */
  readonly everyMs: number;
  /** Whether this instance is the one; left out: it is. */
  readonly isMine?: (() => boolean) | undefined;
};

export class Keeping implements Disposable {
  readonly #deps: Deps;
  #timer: NodeJS.Timeout | null = null;
  #over = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#after(deps.everyMs);
  }

  /** A step that is under way ends with the connection that it asks. */
  [Symbol.dispose](): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #after(ms: number): void {
    if (this.#over) return;
    this.#timer = setTimeout(() => void this.#go(), ms);
  }

  /** What fails is tried again at the next time: nothing is lost by it. */
  async #go(): Promise<void> {
    const { isMine = () => true, step, everyMs } = this.#deps;
    const more = isMine() && (await step().catch(() => false));
    this.#after(more ? pauseMs : everyMs);
  }
}
