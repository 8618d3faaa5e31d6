/**
 * The commands that a platform shows: it is told those that were offered last, beside what others
 * have set. Where it is away it is told when the channel is up again, and what fails then is tried
 * again as the platform is heard of, less and less often. What it refuses waits for the next offer.
 */
import { hourMs } from '../../lib/durations.ts';
import type { Events } from '../../domain/event.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { OfferedCommands } from '../channel.ts';

/** `message`: what was refused, and what a person can do about it. */
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

/** Between two tries while the platform is heard of. */
const pause = { baseMs: 5_000, capMs: hourMs } as const;

export class CommandMenu {
  readonly #deps: CommandMenuDeps;
  readonly #over = new AbortController();
  /** What the platform was told last, and has. */
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

  /** The channel is up, and was not. */
  up(): void {
    this.#failures = 0;
    this.#begin();
  }

  /** The platform was heard of. */
  heard(): void {
    if (this.#deps.steady() >= this.#notBefore) this.#begin();
  }

  end(): void {
    this.#over.abort();
  }

  #begin(): void {
    if (!this.#isTelling && this.#wanted !== null) void this.#tell();
  }

  /** One at a time: what was offered meanwhile is told after it. */
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
