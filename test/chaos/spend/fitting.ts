/**
 * Whether each call fitted its budgets when it came. For every earlier call svc holds at least the
 * provider's count. For a call that is under way, or was abandoned, svc holds the reserved amount.
 * Their sum with the call's own maximum exceeds no budget. This holds in any order in which two
 * calls were reserved and came.
 */
import assert from 'node:assert/strict';
import type { BrainFacts, Price } from './brains.ts';
import { costIn, unitsOf } from './money.ts';
import { senderOf } from './people.ts';
import type { Call, Tokens } from './provider.ts';

type Bound = {
  readonly name: string;
  readonly most: bigint;
  /** Calls of one key share the bound; null: this one does not bind it. */
  readonly keyOf: (call: Call) => string | null;
  readonly sizeOf: (call: Call, tokens: Tokens) => bigint;
};

/** Watches calls while they run, since their states decide the amounts of each moment. */
export class Fitting {
  readonly #prices: ReadonlyMap<string, Price | null>;
  readonly #bounds: readonly Bound[];
  readonly #held = new Map<string, bigint>();
  readonly #open = new Set<Call>();
  readonly #faults: string[] = [];

  constructor({ models, budget }: BrainFacts) {
    this.#prices = new Map(models.map(({ name, price }) => [name, price]));
    const { tokens_per_turn, tokens_per_day, cost_per_day, tokens_per_sender_per_day } = budget;
    const bounds: (Bound | null)[] = [
      ofTokens('tokens_per_day', tokens_per_day, () => 'all'),
      ofTokens('tokens_per_turn', tokens_per_turn, ({ marker, life }) => `${marker} ${life}`),
      ofTokens('tokens_per_sender_per_day', tokens_per_sender_per_day, ({ marker }) => {
        return senderOf(marker);
      }),
      cost_per_day === null
        ? null
        : {
            name: 'cost_per_day',
            most: unitsOf(String(cost_per_day)),
            keyOf: () => 'all',
            sizeOf: ({ model }, tokens) => costIn(tokens, this.#prices.get(model)!),
          },
    ];
    this.#bounds = bounds.filter((bound) => bound !== null);
  }

  /** Checks a new call against the present states of the earlier ones. */
  came(call: Call): void {
    if (this.#prices.get(call.model) === null) return;
    for (const open of this.#open) {
      if (open.state !== 'over') continue;
      this.#open.delete(open);
      this.#hold(open, open.most, -1n);
      this.#hold(open, open.used, 1n);
    }
    this.#open.add(call);
    for (const [key, held] of this.#hold(call, call.most, 1n)) {
      if (held.sum > held.most) this.#faults.push(`${call.marker}: ${held.sum} of ${key}`);
    }
  }

  assertFitted(): void {
    assert.deepEqual(this.#faults, [], 'each call that was made fits');
  }

  #hold(call: Call, tokens: Tokens, sign: bigint): Map<string, { sum: bigint; most: bigint }> {
    const sums = new Map<string, { sum: bigint; most: bigint }>();
    for (const { name, most, keyOf, sizeOf } of this.#bounds) {
      const of = keyOf(call);
      if (of === null) continue;
      const key = `${name} ${of}`;
      const sum = (this.#held.get(key) ?? 0n) + sign * sizeOf(call, tokens);
      this.#held.set(key, sum);
      sums.set(key, { sum, most });
    }
    return sums;
  }
}

function ofTokens(name: string, most: number | null, keyOf: Bound['keyOf']): Bound | null {
  if (most === null) return null;
  const sizeOf = (_call: Call, { input, output }: Tokens): bigint => BigInt(input + output);
  return { name, most: BigInt(most), keyOf, sizeOf };
}
