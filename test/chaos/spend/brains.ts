/** Brains with budgets that get used up: each asks models in another way, at odd prices. */

export const kinds = ['fanout', 'sequential', 'agent', 'consensus'] as const;
export type Kind = (typeof kinds)[number];

export type Price = { readonly input: number; readonly output: number };

/** Null: no bound. */
export type Budget = {
  readonly tokens_per_turn: number | null;
  readonly tokens_per_day: number | null;
  readonly cost_per_day: number | null;
  readonly tokens_per_sender_per_day: number | null;
};

export type ModelFacts = {
  /** Its name in svc. */
  readonly name: string;
  readonly id: string;
  readonly outputMax: number;
  /** Null: it is free. */
  readonly price: Price | null;
};

export type BrainFacts = {
  readonly kind: Kind;
  readonly models: readonly ModelFacts[];
  readonly budget: Budget;
  /** A free model answers when no other may. */
  readonly hasFree: boolean;
};

export const brainName = 'spender';
/** The measured averages of a turn, with its trials: tokens, and money. */
const ofTurn: Readonly<Record<Kind, { readonly tokens: number; readonly cost: number }>> = {
  fanout: { tokens: 330, cost: 0.0012 },
  sequential: { tokens: 88, cost: 0.000058 },
  agent: { tokens: 800, cost: 0.00021 },
  consensus: { tokens: 220, cost: 0.00078 },
};
const prices: readonly Price[] = [
  { input: 0.123457, output: 1.000003 },
  { input: 3, output: 0.7 },
  { input: 0.999999, output: 12.34567 },
];

/** The budget suffices for about this share of the turns. */
const share = 0.6;

export function brainOf(kind: Kind, turns: number): BrainFacts {
  const count = kind === 'agent' ? 1 : kind === 'sequential' ? 2 : 3;
  const costing = prices.slice(0, count).map((price, at): ModelFacts => {
    const id = `${kind}-${'abc'[at]}`;
    return { name: `hosted_runtime/${id}`, id, outputMax: 60 + 17 * at, price };
  });
  const free = { name: 'local_runtime/m', id: 'm', outputMax: 0, price: null };
  const hasFree = kind === 'fanout';
  const models = hasFree ? [...costing, free] : costing;
  return { kind, models, budget: budgetOf(kind, turns), hasFree };
}

function budgetOf(kind: Kind, turns: number): Budget {
  const day = Math.ceil(turns * share * ofTurn[kind].tokens);
  // With more digits than any sum of tokens at these prices.
  const cost = Number((turns * share * ofTurn[kind].cost + 0.000000123).toFixed(9));
  const none = { tokens_per_turn: null, tokens_per_day: null };
  const budget = { ...none, cost_per_day: null, tokens_per_sender_per_day: null };
  switch (kind) {
    case 'fanout':
      return { ...budget, cost_per_day: cost };
    case 'sequential':
      return { ...budget, tokens_per_day: day, tokens_per_sender_per_day: Math.ceil(day / 4) };
    case 'agent':
      // Enough for a first step, and mostly for a second.
      return { ...budget, tokens_per_turn: 1_700, tokens_per_day: day };
    case 'consensus':
      return { ...budget, tokens_per_day: day, cost_per_day: cost };
    default:
      return kind satisfies never;
  }
}

/** Its configuration. @param urls of the provider that costs, and of the free one */
export function documentOf(facts: BrainFacts, urls: { hosted: string; local: string }): object {
  const { kind, models, budget } = facts;
  const limits = Object.entries(budget).filter(([, most]) => most !== null);
  return {
    name: brainName,
    sensitivity: 'public',
    dispatch: kind === 'fanout' || kind === 'consensus' ? 'fanout' : 'sequential',
    policy: { kind: kind === 'consensus' ? 'consensus' : 'priority' },
    models: models.map(({ id, outputMax, price }) =>
      price === null
        ? { provider: 'local_runtime', model_id: id, locality: 'local', base_url: urls.local }
        : {
            provider: 'hosted_runtime',
            model_id: id,
            locality: 'cloud',
            base_url: urls.hosted,
            api_key_env: 'API_KEY',
            max_output_tokens: outputMax,
            price,
          },
    ),
    budget: Object.fromEntries(limits),
    ...(kind === 'agent' && { agent: { tools: ['calc'] } }),
  };
}
