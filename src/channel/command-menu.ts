/**
 * The commands that a platform shows: it is asked what it has, and told what was offered last where
 * that is another. That it cannot be told changes nothing, and the next offer tries again.
 */
export type CommandMenuParts<Shown> = {
  /** @returns null: it did not say */
  readonly read: (signal: AbortSignal) => Promise<Shown | null>;
  /** @returns whether it has them now */
  readonly write: (wanted: Shown, signal: AbortSignal) => Promise<boolean>;
};

export class CommandMenu<Shown> {
  readonly #parts: CommandMenuParts<Shown>;
  readonly #over = new AbortController();
  /** What the platform has, as far as it is known. */
  #known: string | null = null;
  #wanted: Shown | null = null;
  #isTelling = false;

  constructor(parts: CommandMenuParts<Shown>) {
    this.#parts = parts;
  }

  offer(wanted: Shown): void {
    this.#wanted = wanted;
    if (!this.#isTelling) void this.#tell();
  }

  end(): void {
    this.#over.abort();
  }

  /** One at a time: what was offered meanwhile is told after it. Never rejects. */
  async #tell(): Promise<void> {
    const { signal } = this.#over;
    this.#isTelling = true;
    for (let next = this.#next(); next !== null && !signal.aborted; next = this.#next()) {
      const text = JSON.stringify(next);
      const shown = await this.#parts.read(signal);
      if (shown === null) continue;
      const isThere = JSON.stringify(shown) === text || (await this.#parts.write(next, signal));
      this.#known = isThere ? text : null;
    }
    this.#isTelling = false;
  }

  #next(): Shown | null {
    const wanted = this.#wanted;
    this.#wanted = null;
    return wanted !== null && JSON.stringify(wanted) !== this.#known ? wanted : null;
  }
}
