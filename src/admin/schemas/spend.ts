/**
 * Schemas of spend; the compiler compares them with the types in ../spend.ts and
 * src/domain/spend.ts.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import { spendKeys } from '../../domain/spend.ts';
import { budgetLimits } from '../spend.ts';
import {
  integer,
  list,
  maybe,
  maybeInteger,
  maybeText,
  object,
  oneOf,
  text,
  type IdText,
} from './schema.ts';

const tokens = object({ input: integer, output: integer });

const spent = {
  calls: integer,
  tokens,
  costing: tokens,
  estimatedCalls: integer,
  open: tokens,
  cost: maybeText,
  openCost: maybeText,
} as const;

export const spendSchema = object({
  by: oneOf(...spendKeys),
  since: text,
  rows: list(
    object({
      key: text,
      channel: maybe(text as IdText<ChannelKey>),
      ...spent,
      firstDay: text,
      lastDay: text,
    }),
  ),
  total: object(spent),
});

export const budgetsSchema = object({
  day: text,
  rows: list(
    object({
      brain: text,
      limits: list(
        object({
          limit: oneOf(...budgetLimits),
          most: text,
          used: maybeText,
          reserved: maybeText,
          percent: maybeInteger,
        }),
      ),
    }),
  ),
});
