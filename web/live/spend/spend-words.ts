/** Spending in words. */
import type { LimitSummary } from '../../../src/admin/spend.ts';
import type { SpendBy, Spent, Tokens } from '../../../src/domain/spend.ts';
import type { Tone } from '../../kit/state.tsx';
import { count, some } from '../../kit/words.ts';

export const byWords: Readonly<Record<SpendBy, string>> = {
  model: 'Model',
  brain: 'Brain',
  day: 'Day',
  sender: 'Sender',
};

export const spanWords = { '1': 'today', '7': 'in the last 7 days', '30': 'in the last 30 days' };
export type SpendSpan = keyof typeof spanWords;

const large = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const small = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

/** Rounded: `12.35`, `0.0012`. @param cost a decimal number */
export function roughCost(cost: string): string {
  const value = Number(cost);
  return (value < 1 ? small : large).format(value);
}

/** `1,240 in, 80 out`; with "about" if a part of it is estimated. */
export function tokensIn({ tokens, estimatedCalls }: Spent): string {
  const about = estimatedCalls === 0 ? '' : 'about ';
  return `${about}${count(tokens.input)} in, ${count(tokens.output)} out`;
}

/** `3 calls, about 1,240 tokens in, 80 out`. */
export function allOf({ calls, tokens, estimatedCalls }: Spent): string {
  const about = estimatedCalls === 0 ? '' : 'about ';
  const into = some(tokens.input, 'token');
  return `${some(calls, 'call')}, ${about}${into} in, ${count(tokens.output)} out`;
}

export const bothOf = ({ input, output }: Tokens): number => input + output;

export function hasCost({ cost, openCost }: Spent): boolean {
  return cost !== null || openCost !== null;
}

const limitNames: Readonly<Record<LimitSummary['limit'], string>> = {
  tokens_per_turn: 'Tokens of each turn',
  tokens_per_day: 'Tokens today',
  cost_per_day: 'Cost today',
  tokens_per_sender_per_day: 'Tokens of each sender a day',
};

/** `Tokens today: 250 of 1,000 used, 150 reserved`. */
export function describeLimit({ limit, most, used, reserved }: LimitSummary): string {
  const format = (amount: string): string =>
    limit === 'cost_per_day' ? roughCost(amount) : count(Number(amount));
  if (used === null) return `${limitNames[limit]}: ${format(most)} at most`;
  const held = reserved === null || reserved === '0' ? '' : `, ${format(reserved)} reserved`;
  return `${limitNames[limit]}: ${format(used)} of ${format(most)} used${held}`;
}

/** The use of a budget as a state. @param percent that is used or reserved */
export function fullness(percent: number): readonly [Tone, string] {
  if (percent >= 100) return ['bad', `full (${percent} %)`];
  return percent >= 80 ? ['wait', `nearly full (${percent} %)`] : ['good', `${percent} %`];
}
