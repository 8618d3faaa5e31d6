import { costOf } from '../domain/money.ts';
import type { Try } from '../domain/outcome.ts';
import { usedByBoth } from '../domain/spend.ts';
import type {
  Payable,
  Price,
  BudgetGuard,
  Reserved,
  Tokens,
  Unpaid,
  Used,
} from '../domain/spend.ts';

const none: Used = { input: 0, output: 0, estimated: false };

/**
 * What one model's part in a turn is charged with. A call that is given up has no outcome that
 * would tell what it used: the tab knows what was reserved for it.
 */
export class CallCosts implements BudgetGuard {
  readonly #budgetGuard: BudgetGuard;
  #price: Price | null = null;
  /** Of calls that are over, and whose outcome was not heard yet. */
  #settled = none;
  /** Of the call under way. */
  #open = none;

  constructor(budgetGuard: BudgetGuard) {
    this.#budgetGuard = budgetGuard;
  }

  reserve(payable: Payable, most: Tokens): Reserved | Promise<Reserved | Unpaid> {
    this.#price = payable.price;
    const output = payable.costs ? most.output : 0;
    const open = { input: most.input, output, estimated: true };
    const paying = this.#budgetGuard.reserve(payable, most);
    if (!(paying instanceof Promise)) return this.#noted(paying, open);
    return paying.then((paid) => (paid.kind === 'reserved' ? this.#noted(paid, open) : paid));
  }

  /** An outcome came: its tries tell what was used. */
  heard(): void {
    this.#settled = none;
  }

  /** What was used, or may have been, since the last outcome that was heard; null: nothing. */
  get unheard(): Used | null {
    const all = usedByBoth(this.#settled, this.#open);
    return all.input + all.output === 0 ? null : all;
  }

  /** What those tries cost, a decimal number; null: the model has no price. */
  costOf(tries: readonly Try[]): string | null {
    if (this.#price === null) return null;
    return costOf(
      tries.reduce((all, { tokens }) => usedByBoth(all, tokens ?? none), none),
      this.#price,
    );
  }

  #noted(paid: Reserved, open: Used): Reserved {
    this.#open = open;
    return {
      kind: 'reserved',
      settle: (used) => {
        this.#open = none;
        if (used !== null) this.#settled = usedByBoth(this.#settled, used);
        paid.settle(used);
      },
    };
  }
}
