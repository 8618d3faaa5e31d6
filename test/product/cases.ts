/** The cases of the product: dispatch × policy × failure × the rank of the failing model. */
import type { FailureName } from '../fake/failures.ts';

/** The plan of one model: it fails this many times, then it answers. */
export type ModelPlan = { readonly fails: FailureName; readonly times: number } | 'answers';

export type Case = {
  readonly dispatch: 'fanout' | 'sequential';
  readonly policy: 'priority' | 'consensus';
  /** By rank, the best first. */
  readonly plans: readonly ModelPlan[];
  /** The answer of each model, by rank; `agree`: all mean the same. */
  readonly texts: readonly string[];
  readonly agree: boolean;
  /** Ranks in the order of the list of models. */
  readonly listed: readonly number[];
  /** Ranks in the order of the outcomes, where all are asked at once. */
  readonly order: readonly number[];
  readonly title: string;
};

/** Fourteen failures of a model, one of each kind that the brain distinguishes. */
export const struck = [
  'refused',
  'reset',
  'cut',
  'hang',
  '429',
  '503',
  '500',
  '401',
  '404',
  '400',
  'overflow',
  'redirect',
  'malformed',
  'empty',
] as const satisfies readonly FailureName[];

const agreeing = ['Four.', '**four**', 'Answer: FOUR!'];
const differing = ['four', 'five', 'six'];

export function makeCases(): readonly Case[] {
  const cases: Case[] = [];
  for (const fails of struck) {
    for (const policy of ['priority', 'consensus'] as const) {
      for (const agree of policy === 'priority' ? [false] : [true, false]) {
        cases.push(...oneFails(fails, policy, agree));
      }
      for (const dispatch of ['fanout', 'sequential'] as const) {
        const plan = { fails, times: Infinity };
        const all = `${dispatch}, ${policy}: all of 2 fail by ${fails}`;
        cases.push(makeCase(dispatch, policy, [plan, plan], true, [0, 1], all));
        if (fails === 'refused') continue;
        const once = { fails, times: 1 };
        const heal = `${dispatch}, ${policy}: all of 2 fail by ${fails} once`;
        cases.push(makeCase(dispatch, policy, [once, once], true, [0, 1], heal));
      }
    }
  }
  return cases;
}

/** One of two or three models fails for good. */
function oneFails(fails: FailureName, policy: Case['policy'], agree: boolean): readonly Case[] {
  const cases: Case[] = [];
  for (const size of [2, 3]) {
    for (let rank = 0; rank < size; rank++) {
      const plans = Array.from({ length: size }, (_, at): ModelPlan => {
        return at === rank ? { fails, times: Infinity } : 'answers';
      });
      const best = plans.map((_, at) => at).filter((at) => at !== rank);
      const words = agree ? 'agreeing' : 'differing';
      const what = `${policy}: ${fails} at rank ${rank} of ${size}, ${words}`;
      cases.push(makeCase('sequential', policy, plans, agree, best, `sequential, ${what}`));
      const orders: Record<string, readonly number[]> = {
        'the failure first, then the best': [rank, ...best],
        'the failure first, then the worst': [rank, ...best.toReversed()],
        // These two fail at once or never, so they cannot come after the answers.
        ...(fails !== 'refused' && fails !== 'hang' && { 'the failure last': [...best, rank] }),
      };
      for (const [said, order] of Object.entries(orders)) {
        const title = `fanout, ${what}, ${said}`;
        cases.push(makeCase('fanout', policy, plans, agree, order, title));
      }
    }
  }
  return cases;
}

/** Two models are listed in reverse order, so that list and rank differ. */
function makeCase(
  dispatch: Case['dispatch'],
  policy: Case['policy'],
  plans: readonly ModelPlan[],
  agree: boolean,
  order: readonly number[],
  title: string,
): Case {
  const listed = plans.length === 2 ? [1, 0] : [0, 1, 2];
  const texts = agree ? agreeing : differing;
  return { dispatch, policy, plans, texts, agree, listed, order, title };
}
