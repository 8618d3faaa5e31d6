import type { Charged, Used } from '../../domain/spend.ts';
import { settledBy, type SpendChange } from './spending.ts';

const gatherMs = 1_000;

type Gathered = { readonly charged: Charged; change: SpendChange };

/**
 * What free models used, gathered for a second before it is written: no budget waits for it, and
 * each turn would else write two rows more. A process that dies loses that second of it.
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

  /** Hands on what is gathered: before a storage closes or forgets, and before sums are read. */
  readonly flush = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const all = [...this.#gathered.values()];
    this.#gathered.clear();
    for (const { charged, change } of all) this.#write(charged, change);
  };
}

/** Free models have no price. */
function keyOf({ day, brain, model, sender }: Charged): string {
  const whose = sender === null ? '' : `${sender.channel}\0${sender.id}`;
  return `${day}\0${brain}\0${model}\0${whose}`;
}

/** Nothing of a free model is reserved. */
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
