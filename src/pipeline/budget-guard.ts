/**
 * Pays for the model calls of one turn, or of one trial: reserves tokens and cost in the ledger,
 * within the brain's budget.
 */
import type { Events } from '../domain/event.ts';
import { compareAmounts, costOf, dearest } from '../domain/money.ts';
import type {
  Budget,
  Charged,
  OverBudget,
  Payable,
  BudgetGuard,
  Reserved,
  SpendLimit,
  Tokens,
  Unpaid,
  Used,
} from '../domain/spend.ts';
import { localDay, nextMidnight } from '../lib/local-day.ts';
import type { LimitSum, SpendBook } from '../ledger/ledger.ts';

export type BudgetGuardDeps = {
  readonly book: SpendBook;
  readonly events: Pick<Events, 'modelSpent' | 'budgetReached' | 'budgetRefused'>;
  readonly now: () => number;
};

/** `sender`: who wrote the message; null: a trial, which has no sender. */
export type Charging = {
  readonly brain: { readonly name: string; readonly budget: Budget | null };
  readonly sender: Charged['sender'];
};

export function createBudgetGuard(deps: BudgetGuardDeps, charging: Charging): BudgetGuard {
  return new BrainBudgetGuard(deps, charging);
}

/** From this share on, a day's budget counts as nearly used. */
export const nearlyUsedShare = 0.8;

class BrainBudgetGuard implements BudgetGuard {
  readonly #deps: BudgetGuardDeps;
  readonly #charging: Charging;
  /** Tokens used or reserved by the calls of this turn to models that cost money. */
  #turnTokens = 0;

  constructor(deps: BudgetGuardDeps, charging: Charging) {
    this.#deps = deps;
    this.#charging = charging;
  }

  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid> {
    const { brain, sender } = this.#charging;
    const charged = { ...payable, day: localDay(this.#deps.now()), brain: brain.name, sender };
    return payable.costs ? this.#reserveTokens(charged, most) : this.#reserved(charged, null);
  }

  async #reserveTokens(charged: Charged, most: Tokens): Promise<Reserved | Unpaid> {
    const { brain } = this.#charging;
    const { tokensPerTurn = null } = brain.budget ?? {};
    const size = most.input + most.output;
    if (tokensPerTurn !== null && this.#turnTokens + size > tokensPerTurn) {
      this.#deps.events.budgetRefused({ brain: brain.name, limit: 'tokens_per_turn' });
      return { kind: 'over_budget', opensAt: null };
    }
    // Reserved before the await: simultaneous calls must not each find the same room.
    this.#turnTokens += size;
    const limits = limitsOf(brain.budget, charged.sender);
    const reserving = await this.#deps.book.reserve(charged, most, limits);
    if (reserving.kind === 'reserved') {
      for (const sum of reserving.sums) this.#warnIfNearlyUsed(sum, charged.day);
      return this.#reserved(charged, most);
    }
    this.#turnTokens -= size;
    return reserving.kind === 'over' ? this.#refuse(reserving.limit, charged, most) : reserving;
  }

  #reserved(charged: Charged, reserved: Tokens | null): Reserved {
    return {
      kind: 'reserved',
      settle: (used) => {
        if (reserved !== null) this.#turnTokens += tokensOf(used) - tokensOf(reserved);
        const { brain, model, price } = charged;
        if (used !== null) this.#deps.events.modelSpent({ brain, model, used, price });
        this.#deps.book.settle(charged, reserved, used);
      },
    };
  }

  #warnIfNearlyUsed({ limit, before }: LimitSum, day: string): void {
    if (Number(before) < nearlyUsedShare * Number(limit.most)) return;
    const brain = this.#charging.brain.name;
    this.#deps.events.budgetReached({ brain, ...limitFields(limit), state: 'nearly_used', day });
  }

  #refuse(limit: SpendLimit, { day, price }: Charged, most: Tokens): OverBudget {
    const brain = this.#charging.brain.name;
    this.#deps.events.budgetReached({ brain, ...limitFields(limit), state: 'used_up', day });
    this.#deps.events.budgetRefused({ brain, limit: limit.kind });
    // A call that is larger than a whole day's budget would be refused tomorrow, too.
    const isForGood = isBeyondLimit(limit, most, price);
    return { kind: 'over_budget', opensAt: isForGood ? null : nextMidnight(this.#deps.now()) };
  }
}

function limitsOf(budget: Budget | null, sender: Charged['sender']): readonly SpendLimit[] {
  if (budget === null) return [];
  const { tokensPerDay, costPerDay, tokensPerSenderPerDay } = budget;
  const limits: SpendLimit[] = [];
  if (tokensPerDay !== null) limits.push({ kind: 'tokens_per_day', most: tokensPerDay });
  if (costPerDay !== null) limits.push({ kind: 'cost_per_day', most: costPerDay });
  if (tokensPerSenderPerDay !== null && sender !== null) {
    limits.push({ kind: 'tokens_per_sender_per_day', most: tokensPerSenderPerDay });
  }
  return limits;
}

function limitFields({ kind: limit, most }: SpendLimit) {
  return { limit, most };
}

/** Whether the call is too large even for an unused limit. */
function isBeyondLimit(limit: SpendLimit, most: Tokens, price: Charged['price']): boolean {
  if (limit.kind !== 'cost_per_day') return most.input + most.output > limit.most;
  return price !== null && compareAmounts(costOf(most, dearest(price)), limit.most) > 0;
}

function tokensOf(tokens: Tokens | Used | null): number {
  return tokens === null ? 0 : tokens.input + tokens.output;
}
