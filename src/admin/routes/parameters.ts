/** What several routes share: parameters, and what may go wrong. */
import { reasonCharactersMax } from '../../domain/audit.ts';
import { pageRowsMax, pageRowsUsual } from '../../domain/page.ts';
import { channelsAsked } from '../channel-named.ts';
import { problem, type Answer } from '../http/answer.ts';
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

export const ofChannel = {
  kind: 'text',
  summary: 'Only of this channel: a bot of a messenger by its key, or all of them by its type.',
  charactersMax: 256,
} as const satisfies Parameter;

/** Answers for what that parameter names; where that is no channel, it says so. */
export async function onChannels(
  named: string | null,
  answer: (channel: string | null) => Promise<Answer>,
): Promise<Answer> {
  const asked = named === null ? ({ kind: 'found', channel: null } as const) : channelsAsked(named);
  return asked.kind === 'found'
    ? answer(asked.channel)
    : problem(400, 'invalid_parameter', asked.message);
}

/** A problem of every route that asks the ledger's reader. */
export const unread = { 503: 'It cannot be read now: too many ask, or the storage failed.' };
