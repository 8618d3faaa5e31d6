/**
 * A message on a platform that grows while its reply is being written: made once, then edited, one
 * request at a time and never the same text twice. It gives up by itself where the platform does
 * not like it; whatever happens here costs the reply nothing.
 *
 * waiting → making → shown ⇄ editing → over (ended, or too many failures)
 */
import type { SteadyTime } from '../lib/clock.ts';
import type { Preview, Previewed } from './channel.ts';

/**
 * What became of a message that was to be made. `unseen`: it may stand there, and nobody knows it,
 * so that no other one is made.
 */
export type Made =
  | { readonly kind: 'made'; readonly replaces: string }
  | { readonly kind: 'failed' | 'unseen' };

/** What a messenger does for it. Neither rejects. */
export type Screen = {
  make(text: string): Promise<Made>;
  /** @returns false: it failed */
  edit(replaces: string, text: string): Promise<boolean>;
  /** Whether the platform's limits leave room for it now. */
  mayShow(): boolean;
};

export type GrowingTimes = {
  /** An answer that comes within this is sent whole. */
  readonly firstMs: number;
  /** Between two requests. */
  readonly everyMs: number;
  /** How long the last request is waited for. */
  readonly endMs: number;
};

export const growingTimes: GrowingTimes = { firstMs: 700, everyMs: 1_500, endMs: 6_000 };

/** Shows nothing. */
export const noPreview: Preview = { show() {}, async end() {} };

const failuresMax = 3;

export class GrowingMessage implements Preview {
  readonly #screen: Screen;
  readonly #times: GrowingTimes;
  readonly #steady: () => SteadyTime;
  readonly #made: (replaces: string) => void;
  readonly #begunAt: SteadyTime;
  #replaces: string | null;
  #text = '';
  #shown = '';
  #lastAt: SteadyTime | null = null;
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;
  #failures = 0;
  #over = false;

  constructor(
    screen: Screen,
    { replaces, made }: Pick<Previewed, 'replaces' | 'made'>,
    steady: () => SteadyTime,
    times: GrowingTimes = growingTimes,
  ) {
    this.#screen = screen;
    this.#times = times;
    this.#steady = steady;
    this.#made = made;
    this.#replaces = replaces;
    this.#begunAt = steady();
  }

  show(text: string): void {
    this.#text = text;
    this.#plan();
  }

  async end(): Promise<void> {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#working === null) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, this.#times.endMs);
    await Promise.race([this.#working, late.promise]);
    clearTimeout(timer);
  }

  #plan(): void {
    if (this.#over || this.#timer !== null || this.#working !== null) return;
    if (this.#text === '' || this.#text === this.#shown) return;
    const { firstMs, everyMs } = this.#times;
    const dueMs = this.#lastAt === null ? this.#begunAt + firstMs : this.#lastAt + everyMs;
    this.#timer = setTimeout(() => this.#due(), Math.max(0, dueMs - this.#steady()));
    this.#timer.unref();
  }

  #due(): void {
    this.#timer = null;
    if (this.#over) return;
    this.#lastAt = this.#steady();
    if (!this.#screen.mayShow()) return this.#plan();
    this.#working = this.#take(this.#text);
  }

  async #take(text: string): Promise<void> {
    const isShown = await this.#write(text);
    this.#working = null;
    this.#lastAt = this.#steady();
    if (isShown) this.#shown = text;
    this.#failures = isShown ? 0 : this.#failures + 1;
    if (this.#failures === failuresMax) this.#over = true;
    this.#plan();
  }

  async #write(text: string): Promise<boolean> {
    if (this.#replaces !== null) return this.#screen.edit(this.#replaces, text);
    const made = await this.#screen.make(text);
    if (made.kind === 'unseen') this.#over = true;
    if (made.kind !== 'made') return false;
    this.#replaces = made.replaces;
    this.#made(made.replaces);
    return true;
  }
}
