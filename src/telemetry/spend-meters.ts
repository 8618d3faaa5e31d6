/** Counters of tokens, cost, prompt reuse and refusals, and the warnings of reached budgets. */
import type { Events } from '../domain/event.ts';
import type { ModelName } from '../domain/ids.ts';
import { costOf } from '../domain/money.ts';
import { localDay } from '../lib/local-day.ts';
import {
  entryOf,
  type BudgetWarning,
  type RefusalTally,
  type ReuseTally,
  type TokenTally,
} from './meters.ts';

type Reached = Parameters<Events['budgetReached']>[0];

/** The most pairs of a brain and a model that have their own counter. The rest share one. */
const pairsMax = 500;
const others = 'others';

type CountedTokens = { -readonly [Field in keyof TokenTally]: TokenTally[Field] };

export class TokenCounts {
  readonly #pairs = new Map<string, CountedTokens>();

  spent({ brain, model, used, price }: Parameters<Events['modelSpent']>[0]): void {
    const tally = this.#of(brain, model);
    tally.input += used.input;
    tally.output += used.output;
    tally.cached += used.cached ?? 0;
    if (price !== null) tally.cost = (tally.cost ?? 0) + Number(costOf(used, price));
  }

  values(): Iterable<TokenTally> {
    return this.#pairs.values();
  }

  #of(brain: string, model: ModelName): CountedTokens {
    const key = `${brain}\n${model}`;
    const isKept = this.#pairs.size < pairsMax || this.#pairs.has(key);
    return isKept
      ? entryOf(this.#pairs, key, () => newTally(brain, model))
      : entryOf(this.#pairs, others, () => newTally(others, others));
  }
}

function newTally(brain: string, model: string) {
  const provider = model.split('/', 1)[0]!;
  return { brain, provider, model, input: 0, output: 0, cached: 0, cost: null };
}

/** Counts calls that did not fit a budget, by brain and limit. */
export class RefusalCounts {
  readonly #tallies = new Map<string, RefusalTally & { count: number }>();

  refused({ brain, limit }: Parameters<Events['budgetRefused']>[0]): void {
    const isKept = this.#tallies.size < pairsMax || this.#tallies.has(`${brain}\n${limit}`);
    const name = isKept ? brain : others;
    const make = () => ({ brain: name, limit, count: 0 });
    entryOf(this.#tallies, `${name}\n${limit}`, make).count++;
  }

  values(): Iterable<RefusalTally> {
    return this.#tallies.values();
  }
}

/** Counts the share of prompts that models could take from a cache. */
export class ReuseCounts {
  readonly #tallies = new Map<
    string,
    { -readonly [Field in keyof ReuseTally]: ReuseTally[Field] }
  >();

  seen(model: ModelName, source: ReuseTally['source'], share: number): void {
    const known = this.#tallies.has(`${model}\n${source}`);
    const name = known || this.#tallies.size < pairsMax ? model : others;
    const tally = entryOf(this.#tallies, `${name}\n${source}`, () => {
      return { model: name, source, sum: 0, count: 0 };
    });
    tally.sum += share;
    tally.count++;
  }

  values(): Iterable<ReuseTally> {
    return this.#tallies.values();
  }
}

/** The most notices of one day. No real configuration has so many brains. */
const noticesMax = 2_000;

const remedy =
  'See `svc spend`; raise the budget, or give the brain a local model without a price.';

/**
 * Reports each reached budget once a day per brain, limit and state: in the log, and as a warning
 * that stays for that day.
 */
export class BudgetNotices {
  readonly #now: () => number;
  #day = '';
  readonly #reached = new Map<string, Reached>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param events receives a warning, unless it already had this one today */
  reached(reached: Reached, events: Pick<Events, 'warned'>): void {
    this.#begin(reached.day);
    const { brain, limit, most, state } = reached;
    const key = [brain, limit, most, state].join('\n');
    if (reached.day !== this.#day || this.#reached.has(key)) return;
    if (this.#reached.size >= noticesMax) return;
    this.#reached.set(key, reached);
    const { code, message, remedy: next } = warningOf(reached);
    events.warned({ code, message: `${message} ${next}` });
  }

  /** The warnings of today. A limit that a call did not fit has no other warning. */
  get warnings(): readonly BudgetWarning[] {
    this.#begin(localDay(this.#now()));
    const all = [...this.#reached.values()];
    const isOver = (one: Reached): boolean =>
      all.some(({ brain, limit, most, state }) => {
        const isSame = brain === one.brain && limit === one.limit && most === one.most;
        return isSame && state === 'used_up';
      });
    return all.filter((one) => one.state === 'used_up' || !isOver(one)).map(warningOf);
  }

  #begin(day: string): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#reached.clear();
  }
}

function warningOf({ brain, limit, most, state }: Reached): BudgetWarning {
  const scope = limit === 'tokens_per_sender_per_day' ? ' for somebody who writes to it' : '';
  const field = `budget.${limit}`;
  const place = { brain, field, limit, most };
  switch (state) {
    case 'nearly_used': {
      const message = `The brain ${brain} has used 80 % or more of ${field} for today${scope}.`;
      return { code: 'budget_nearly_used', ...place, message, remedy };
    }
    case 'used_up': {
      const message =
        `A call of the brain ${brain} did not fit into what is left of ${field} for today${scope}` +
        ': svc asks no model that costs where a call would go over the budget.';
      return { code: 'budget_used_up', ...place, message, remedy };
    }
    default:
      return state satisfies never;
  }
}

/** The part of the meters that counts spend. */
export class SpendMeters {
  readonly tokens = new TokenCounts();
  readonly reuse = new ReuseCounts();
  readonly refusals = new RefusalCounts();
  readonly budgets: BudgetNotices;

  constructor(now: () => number) {
    this.budgets = new BudgetNotices(now);
  }

  spent(e: Parameters<Events['modelSpent']>[0]): void {
    this.tokens.spent(e);
    const { input, cached } = e.used;
    if (cached != null && input > 0) this.reuse.seen(e.model, 'provider', cached / input);
  }
}
