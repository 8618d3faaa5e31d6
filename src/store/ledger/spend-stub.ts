/** A book in memory, until the storages have theirs. */
import { compareAmounts, costOf, sumOf } from '../../domain/money.ts';
import type { Charged, SpendLimit, Tokens, Used } from '../../domain/spend.ts';
import type { LimitSum, Reserving, SpendBook } from '../spend.ts';

type Sum = { tokens: number; cost: string };

export class MemorySpendBook implements SpendBook {
  readonly #sums = new Map<string, Sum>();

  async reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    const size = sizeOf(charged, most);
    const sums: LimitSum[] = [];
    for (const limit of limits) {
      const { tokens, cost } = this.#sum(keyOf(charged, limit.kind));
      const isOver =
        limit.kind === 'cost_per_day'
          ? compareAmounts(sumOf(cost, size.cost), limit.most) > 0
          : tokens + size.tokens > limit.most;
      if (isOver) return { kind: 'over', limit };
      sums.push({ limit, before: limit.kind === 'cost_per_day' ? cost : tokens });
    }
    this.#add(charged, size);
    return { kind: 'reserved', sums };
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (reserved === null) return;
    const was = sizeOf(charged, reserved);
    const is = used === null ? { tokens: 0, cost: '0' } : sizeOf(charged, used);
    const cost = sumOf(is.cost, was.cost === '0' ? '0' : `-${was.cost}`);
    this.#add(charged, { tokens: is.tokens - was.tokens, cost });
  }

  #add(charged: Charged, { tokens, cost }: Sum): void {
    for (const kind of ['tokens_per_day', 'tokens_per_sender_per_day'] as const) {
      const sum = this.#sum(keyOf(charged, kind));
      sum.tokens += tokens;
      sum.cost = sumOf(sum.cost, cost);
    }
  }

  #sum(key: string): Sum {
    let sum = this.#sums.get(key);
    if (sum === undefined) this.#sums.set(key, (sum = { tokens: 0, cost: '0' }));
    return sum;
  }
}

function keyOf({ day, brain, sender }: Charged, kind: SpendLimit['kind']): string {
  const whose = kind === 'tokens_per_sender_per_day' ? sender : 'all';
  return JSON.stringify([day, brain, whose]);
}

function sizeOf({ price }: Charged, tokens: Tokens): Sum {
  const cost = price === null ? '0' : costOf(tokens, price);
  return { tokens: tokens.input + tokens.output, cost };
}
