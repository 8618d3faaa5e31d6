/**
 * Publishes the commands that a platform shows: those of the last offer, beside the commands of
 * others. If the platform is away, the menu publishes when the channel is up again. A failed try is
 * repeated when the platform answers something, after longer and longer pauses. A refused menu
 * waits for the next offer.
 */
import { hourMs } from '../../lib/durations.ts';
import type { Events } from '../../domain/event.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { OfferedCommands } from '../channel.ts';

/** `message`: what the platform refused, and what a person can do about it. */
export type MenuOutcome =
  | { readonly kind: 'there' }
  | { readonly kind: 'away'; readonly retryAfterMs: number | null }
  | { readonly kind: 'refused'; readonly message: string };

export type CommandMenuDeps = {
  /** Never rejects. */
  readonly publish: (offered: OfferedCommands, signal: AbortSignal) => Promise<MenuOutcome>;
  readonly events: Pick<Events, 'warned'>;
  readonly steady: () => SteadyTime;
};

/** The pause between two tries while the platform answers. */
const pause = { baseMs: 5_000, capMs: hourMs } as const;

export class CommandMenu {
  readonly #deps: CommandMenuDeps;
  readonly #ended = new AbortController();
  /** The commands that the platform has, as JSON; null: unknown. */
  #published: string | null = null;
  #offered: OfferedCommands | null = null;
  #isPublishing = false;
  #failures = 0;
  #notBefore: SteadyTime;

  constructor(deps: CommandMenuDeps) {
    this.#deps = deps;
    this.#notBefore = deps.steady();
  }

  offer(offered: OfferedCommands): void {
    this.#offered = offered;
    this.#startPublishing();
  }

  /** The channel has come up. */
  up(): void {
    this.#failures = 0;
    this.#startPublishing();
  }

  /** The platform answered something. */
  platformAnswered(): void {
    if (this.#deps.steady() >= this.#notBefore) this.#startPublishing();
  }

  end(): void {
    this.#ended.abort();
  }

  #startPublishing(): void {
    if (!this.#isPublishing && this.#offered !== null) void this.#publish();
  }

  /** Publishes one offer at a time; an offer that arrives meanwhile follows it. */
  async #publish(): Promise<void> {
    const { signal } = this.#ended;
    this.#isPublishing = true;
    for (let next = this.#offered; next !== null && !signal.aborted;) {
      const text = JSON.stringify(next.commands);
      const outcome = text === this.#published ? there : await this.#deps.publish(next, signal);
      this.#published = outcome.kind === 'there' ? text : null;
      if (outcome.kind === 'refused') this.#refused(outcome.message);
      const isNewest = this.#offered === next;
      if (outcome.kind === 'away') this.#failed(outcome.retryAfterMs ?? 0);
      else if (isNewest) this.#offered = null;
      next = isNewest ? null : this.#offered;
    }
    this.#isPublishing = false;
  }

  #refused(message: string): void {
    this.#deps.events.warned({ code: 'commands_refused', message });
  }

  #failed(askedMs: number): void {
    const pauseMs = Math.min(pause.capMs, pause.baseMs * 2 ** this.#failures++);
    this.#notBefore = later(this.#deps.steady(), Math.max(askedMs, pauseMs));
  }
}

const there: MenuOutcome = { kind: 'there' };
