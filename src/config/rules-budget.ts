/** What a brain's budget and its models mean together. */
import type { ProblemList } from './problems.ts';
import type { BrainDraft } from './schema.ts';

type ModelDraft = NonNullable<NonNullable<BrainDraft['models']>[number]>;

/**
 * Before a call, the most that it may use is held against the budget: so that has to be known of
 * every model that costs. A private brain asks its cloud models nothing.
 */
export function checkBudget(brain: BrainDraft, path: string, problems: ProblemList): void {
  const { budget, models, sensitivity } = brain;
  if (!budget || models === undefined || models.includes(undefined)) return;
  if (Object.values(budget).every((bound) => bound === null)) return;
  let costing = 0;
  for (const [index, model] of (models as readonly ModelDraft[]).entries()) {
    if (model.locality === 'cloud' ? sensitivity === 'private' : model.price === null) continue;
    costing++;
    const where = `${path}.models[${index}]`;
    if (model.max_output_tokens === null) {
      const message =
        'this model costs, and the budget cannot hold while its answers have no limit';
      const remedy = 'Add "max_output_tokens", the most tokens that one answer may have.';
      problems.add('budget_unbounded', `${where}.max_output_tokens`, message, remedy);
    }
    if (model.price === null && budget.cost_per_day !== null) {
      const message = 'what this model costs counts for cost_per_day, and it has no price';
      const remedy = 'Add "price": {"input": …, "output": …}, for a million tokens.';
      problems.add('budget_without_price', `${where}.price`, message, remedy);
    }
  }
  if (costing > 0) return;
  const message = 'no model of this brain costs anything, so the budget bounds nothing';
  const remedy = 'Give its models a price, or remove the budget.';
  problems.add('budget_idle', `${path}.budget`, message, remedy);
}
