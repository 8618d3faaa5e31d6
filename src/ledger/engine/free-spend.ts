/**
 * Collects the use of free models for one second before it is written. No budget waits for it, and
 * each turn would otherwise write two more rows. A process that dies loses that second.
 */
import type { Charged, Used } from '../../domain/spend.ts';
import { settledBy, type SpendChange } from './spending.ts';

const collectMs = 1_000;

type Collected = { readonly charged: Charged; change: SpendChange };

export class FreeSpend {
  readonly #write: (charged: Charged, change: SpendChange) => void;
  readonly #collected = new Map<string, Collected>();
  #timer: NodeJS.Timeout | null = null;

  constructor(write: (charged: Charged, change: SpendChange) => void) {
    this.#write = write;
  }

  add(charged: Charged, used: Used): void {
    const key = keyOf(charged);
    const change = settledBy(null, used);
    const known = this.#collected.get(key);
    if (known === undefined) this.#collected.set(key, { charged, change });
    else known.change = sumOfChanges(known.change, change);
    this.#timer ??= setTimeout(this.flush, collectMs).unref();
  }

  /**
   * Writes what is collected. Call it before a storage closes or forgets, and before sums are read.
   */
  readonly flush = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const all = [...this.#collected.values()];
    this.#collected.clear();
    for (const { charged, change } of all) this.#write(charged, change);
  };
}

/** The key of one sum. Free models have no price. */
function keyOf({ day, brain, model, sender }: Charged): string {
  const senderKey = sender === null ? '' : `${sender.channel}\0${sender.id}`;
  return `${day}\0${brain}\0${model}\0${senderKey}`;
}

/** Adds two changes. Use of a free model is never reserved. */
function sumOfChanges(one: SpendChange, other: SpendChange): SpendChange {
  return {
    calls: one.calls + other.calls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    input: one.input + other.input,
    output: one.output + other.output,
    openInput: 0,
    openOutput: 0,
  };
}
