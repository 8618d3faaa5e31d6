/**
 * What a reply that has arrived leaves in its chat: a message that it made needless is taken away.
 */
import type { Deadlines } from '../../lib/deadlines.ts';

/** Before each further try to take a message away. */
const pausesMs = [2_000, 10_000, 60_000];

export class Cleanup {
  readonly #deadlines: Deadlines;
  readonly #remove: (message: string) => Promise<boolean>;

  /** @param remove tries once, and returns whether another try may help; never throws */
  constructor(deadlines: Deadlines, remove: (message: string) => Promise<boolean>) {
    this.#deadlines = deadlines;
    this.#remove = remove;
  }

  /** Resolves when it was tried once; what may help is tried later. Never rejects. */
  takeAway(message: string): Promise<void> {
    return this.#tryToTakeAway(message, 0);
  }

  async #tryToTakeAway(message: string, tries: number): Promise<void> {
    const mayHelp = await this.#remove(message);
    const pauseMs = pausesMs[tries];
    if (!mayHelp || pauseMs === undefined) return;
    this.#deadlines.after(pauseMs, () => void this.#tryToTakeAway(message, tries + 1));
  }
}
