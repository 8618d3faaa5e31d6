/** What several routes share: parameters, and what may go wrong. */
import { reasonCharactersMax } from '../../domain/audit.ts';
import { pageRowsMax, pageRowsUsual } from '../../domain/page.ts';
import type { Parameter } from './route.ts';

/** As long as a sender's or a conversation's id may be on the webhook. */
const charactersMax = 1_024;

export function segment(summary: string) {
  return { kind: 'segment', summary, charactersMax } as const satisfies Parameter;
}

/** Parameters of a list: where it goes on, and how many rows. */
export const page = {
  after: { kind: 'place', summary: 'The `next` of the page before.', charactersMax: 8_192 },
  limit: {
    kind: 'integer',
    summary: 'How many rows at most.',
    min: 1,
    max: pageRowsMax,
    otherwise: pageRowsUsual,
  },
} as const satisfies Record<string, Parameter>;

/** The parameter of a write. */
export const reason = {
  kind: 'text',
  summary: 'Why, in a few words, for the audit.',
  charactersMax: reasonCharactersMax,
} as const satisfies Parameter;

/** A problem of every route that asks the ledger's reader. */
export const unread = { 503: 'It cannot be read now: too many ask, or the storage failed.' };
