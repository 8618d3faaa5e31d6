/**
 * Publishes the commands that a platform shows: those of the last offer, beside the commands of
 * others. If the platform is away, the menu publishes when the channel is up again. A failed try is
 * repeated when the platform answers something, after longer and longer pauses. A refused menu
 * waits for the next offer.
 */
import type { Events } from '../../domain/event.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { OfferedCommands } from '../channel.ts';

/** `message`: what the platform refused, and what a person can do about it. */
export type Told =
  | { readonly kind: 'there' }
  | { readonly kind: 'away'; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused'; readonly message: string };

export type CommandMenuDeps = {
  /** Never rejects. */
  readonly tell: (offered: OfferedCommands, signal: AbortSignal) => Promise<Told>;
  readonly events: Pick<Events, 'warned'>;
  readonly steady: () => SteadyTime;
};

/** The pause between two tries while the platform answers. */
const pause = { baseMs: 5_000, capMs: 3_600_000 } as const;

export class CommandMenu {
  readonly #deps: CommandMenuDeps;
  readonly #over = new AbortController();
  /** The commands that the platform has, as JSON; null: unknown. */
  #known: string | null = null;
  #wanted: OfferedCommands | null = null;
  #isTelling = false;
  #failures = 0;
  #notBefore: SteadyTime;

  constructor(deps: CommandMenuDeps) {
    this.#deps = deps;
    this.#notBefore = deps.steady();
  }

  offer(offered: OfferedCommands): void {
    this.#wanted = offered;
    this.#begin();
  }

  /** The channel has come up. */
  up(): void {
    this.#failures = 0;
    this.#begin();
  }

  /** The platform answered something. */
  heard(): void {
    if (this.#deps.steady() >= this.#notBefore) this.#begin();
  }

  end(): void {
    this.#over.abort();
  }

  #begin(): void {
    if (!this.#isTelling && this.#wanted !== null) void this.#tell();
  }

  /** Publishes one offer at a time; an offer that arrives meanwhile follows it. */
  async #tell(): Promise<void> {
    const { signal } = this.#over;
    this.#isTelling = true;
    for (let next = this.#wanted; next !== null && !signal.aborted;) {
      const text = JSON.stringify(next.commands);
      const told = text === this.#known ? there : await this.#deps.tell(next, signal);
      this.#known = told.kind === 'there' ? text : null;
      if (told.kind === 'refused') this.#refused(told.message);
      const isNewest = this.#wanted === next;
      if (told.kind === 'away') this.#failed(told.retryAfterMs ?? 0);
      else if (isNewest) this.#wanted = null;
      next = isNewest ? null : this.#wanted;
    }
    this.#isTelling = false;
  }

  #refused(message: string): void {
    this.#deps.events.warned({ code: 'commands_refused', message });
  }

  #failed(askedMs: number): void {
    const pauseMs = Math.min(pause.capMs, pause.baseMs * 2 ** this.#failures++);
    this.#notBefore = later(this.#deps.steady(), Math.max(askedMs, pauseMs));
  }
}

const there: Told = { kind: 'there' };
