import type { Charged, Used } from '../../domain/spend.ts';
import { settledBy, type SpendChange } from './spending.ts';

const gatherMs = 1_000;

type Gathered = { readonly charged: Charged; change: SpendChange };

/**
 * Collects the use of free models for one second before it is written. No budget waits for it, and
 * each turn would otherwise write two more rows. A process that dies loses that second.
 */
export class FreeSpend {
  readonly #write: (charged: Charged, change: SpendChange) => void;
  readonly #gathered = new Map<string, Gathered>();
  #timer: NodeJS.Timeout | null = null;

  constructor(write: (charged: Charged, change: SpendChange) => void) {
    this.#write = write;
  }

  add(charged: Charged, used: Used): void {
    const key = keyOf(charged);
    const change = settledBy(null, used);
    const known = this.#gathered.get(key);
    if (known === undefined) this.#gathered.set(key, { charged, change });
    else known.change = both(known.change, change);
    this.#timer ??= setTimeout(this.flush, gatherMs).unref();
  }

  /**
   * Writes what is collected. Call it before a storage closes or forgets, and before sums are read.
   */
  readonly flush = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const all = [...this.#gathered.values()];
    this.#gathered.clear();
    for (const { charged, change } of all) this.#write(charged, change);
  };
}

/** The key of one sum. Free models have no price. */
function keyOf({ day, brain, model, sender }: Charged): string {
  const whose = sender === null ? '' : `${sender.channel}\0${sender.id}`;
  return `${day}\0${brain}\0${model}\0${whose}`;
}

/** Adds two changes. Use of a free model is never reserved. */
function both(one: SpendChange, other: SpendChange): SpendChange {
  return {
    calls: one.calls + other.calls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    input: one.input + other.input,
    output: one.output + other.output,
    openInput: 0,
    openOutput: 0,
  };
}
