/** Faults and warnings about a brain's budget and the prices of its models. */
import { plain, spoil, type Case } from './cases.ts';

const spoilt = spoil(plain);
const head = '"dispatch": "fanout",';
const withBudget = (budget: string): string => `${head} "budget": ${budget},`;
const model = '{ "provider": "local_runtime", "model_id": "llama3", "locality": "local" }';
const modelWith = (more: string): string =>
  `«{ "provider": "local_runtime", "model_id": "llama3", "locality": "local"${more} }`;

export const budgetCases: readonly Case[] = [
  spoilt(
    'a budget over a model whose answers have no limit',
    [
      head,
      withBudget('{ "tokens_per_day": 10 }'),
      model,
      modelWith(', "price": { "input": 0.1, "output": 2 }'),
    ],
    'budget_unbounded',
    'brains[0].models[0].max_output_tokens',
  ),
  spoil(plain.replace('"sensitivity": "private"', '"sensitivity": "public"'))(
    'a budget of money over a model without a price',
    [
      head,
      withBudget('{ "cost_per_day": 0.5 }'),
      model,
      modelWith(', "max_output_tokens": 9').replace('"locality": "local"', '"locality": "cloud"'),
    ],
    'budget_without_price',
    'brains[0].models[0].price',
  ),
  spoilt(
    'two values of context_tokens for one model',
    [
      model,
      `${model.replace(' }', ', "context_tokens": 8192 }')},
        { "provider": "ollama", "model_id": "llama3:latest", "locality": "local",
          "base_url": "http://localhost:11434/", "context_tokens": «4096 }`,
    ],
    'context_differs',
    'brains[0].models[1].context_tokens',
  ),
  spoilt(
    'a value of context_tokens that the same model lacks elsewhere',
    [model, `${model.replace(' }', ', "context_tokens": 8192 }')}, «${model}`],
    'context_differs',
    'brains[0].models[1].context_tokens',
  ),
  spoilt(
    'answers that may be as long as the context of their model',
    [
      model,
      `{ "provider": "ollama", "model_id": "llama3", "locality": "local",
          "context_tokens": 2048, "max_output_tokens": «2048 }`,
    ],
    'output_over_context',
    'brains[0].models[0].max_output_tokens',
  ),
  spoilt(
    'a budget where nothing costs',
    [head, `${head} "budget": «{ "tokens_per_turn": 10 },`],
    'budget_idle',
    'brains[0].budget',
  ),
];
