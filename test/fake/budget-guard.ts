/** A budget guard that allows every call, and keeps the reported costs. */
import type { Payable, BudgetGuard, Reserved, Tokens, Used } from '../../src/domain/spend.ts';

export class FakeBudgetGuard implements BudgetGuard {
  readonly calls: { payable: Payable; most: Tokens; used?: Used | null }[] = [];

  reserve(payable: Payable, most: Tokens): Reserved {
    const call: (typeof this.calls)[number] = { payable, most };
    this.calls.push(call);
    return {
      kind: 'reserved',
      settle(used) {
        if ('used' in call) throw new Error('a call is settled twice');
        call.used = used;
      },
    };
  }
}
