/**
 * What a reply that has arrived leaves in its chat. A message that it made needless is taken away.
 * An edit whose end was not seen may be carried out after the reply's: that is then made once more.
 */
import type { Deadlines } from '../lib/deadlines.ts';

/** After the reply; an edit that is carried out later than this stands. */
const againMs = 20_000;
const unseenMax = 1_000;
/** Before each further try to take a message away. */
const pausesMs = [2_000, 10_000, 60_000];

export class LooseEnds {
  readonly #deadlines: Deadlines;
  readonly #remove: (message: string) => Promise<boolean>;
  /** The oldest first. */
  readonly #unseen = new Set<string>();
  /** By the message that shows the reply. */
  readonly #again = new Map<string, { cancel(): void }>();

  /** @param remove tries once, and returns whether another try may help; never throws */
  constructor(deadlines: Deadlines, remove: (message: string) => Promise<boolean>) {
    this.#deadlines = deadlines;
    this.#remove = remove;
  }

  /** Resolves when it was tried once; what may help is tried later. Never rejects. */
  takeAway(message: string): Promise<void> {
    return this.#tryToTakeAway(message, 0);
  }

  editUnseen(message: string): void {
    for (const oldest of this.#unseen) {
      if (this.#unseen.size < unseenMax) break;
      this.#unseen.delete(oldest);
    }
    this.#unseen.add(message);
  }

  /** @param show gives the message the text of the reply once more; never throws */
  arrived(message: string, show: () => Promise<void>): void {
    // An earlier reply in that message counts no more.
    this.#again.get(message)?.cancel();
    this.#again.delete(message);
    if (!this.#unseen.delete(message)) return;
    const due = this.#deadlines.after(againMs, () => {
      this.#again.delete(message);
      void show();
    });
    this.#again.set(message, due);
  }

  async #tryToTakeAway(message: string, tries: number): Promise<void> {
    const mayHelp = await this.#remove(message);
    const pauseMs = pausesMs[tries];
    if (!mayHelp || pauseMs === undefined) return;
    this.#deadlines.after(pauseMs, () => void this.#tryToTakeAway(message, tries + 1));
  }
}
