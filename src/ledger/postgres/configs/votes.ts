/** Counts the votes on a proposal, and says what came of it. */
import type { Decided, InstanceRefusal, ProposalEnd } from '../../../cluster/shared-configs.ts';
import type { Ask } from '../read/ask.ts';
import { fromText } from '../server/text.ts';
import { endOf, named } from './probe.ts';
import { insertConfig, newestNumber } from './texts.ts';
import { readRefusal } from './rows.ts';

/** So many proposals are kept, for who waits for the end of one. */
const proposalsKept = 20;

/** All is there to settle it. */
type Ripe = { readonly kind: 'ripe'; readonly outcome: Outcome };
type Outcome = Exclude<ProposalEnd, { readonly kind: 'used' }> | { readonly kind: 'agreed' };

type VoterRow = {
  readonly id: number;
  readonly version: string;
  readonly process: string;
  readonly voted: boolean;
  readonly refusal: string | null;
};

/** @param silentMs so long after the proposal silence counts as no */
export async function count(ask: Ask, proposal: number, silentMs: number): Promise<Decided | Ripe> {
  const end = await endOf(ask, proposal);
  if (end !== null) return end;
  const [row] = await ask<{ base: number; late: boolean }>(
    "SELECT base, clock_timestamp() - at > $2 * interval '1 millisecond' AS late " +
      'FROM svc.proposal WHERE n = $1',
    proposal,
    silentMs,
  );
  if (row!.base !== (await newestNumber(ask))) {
    return { kind: 'ripe', outcome: { kind: 'closed', why: 'moved' } };
  }
  const voters = await ask<VoterRow>(
    'SELECT id, version, process, proposal IS NOT NULL AS voted, refusal FROM svc.instance ' +
      'LEFT JOIN svc.vote ON instance = id AND proposal = $1 ' +
      'WHERE NOT dead AND config IS NOT NULL ORDER BY id',
    proposal,
  );
  const refusals = voters.flatMap((voter) => refusalOf(voter) ?? []);
  const missing = voters.filter(({ voted }) => !voted).map(named);
  if (refusals.length > 0) return { kind: 'ripe', outcome: { kind: 'refused', refusals } };
  if (missing.length === 0) return { kind: 'ripe', outcome: { kind: 'agreed' } };
  if (!row!.late) return { kind: 'open', missing };
  const seconds = Math.round(silentMs / 1_000);
  const silent = missing.map((instance): InstanceRefusal => {
    return { instance, code: 'silent', detail: `It has not answered within ${seconds} s.` };
  });
  return { kind: 'ripe', outcome: { kind: 'refused', refusals: silent } };
}

/** Its text is in use from the commit on, where all agreed. */
export async function settle(ask: Ask, proposal: number, outcome: Outcome): Promise<ProposalEnd> {
  const end = outcome.kind === 'agreed' ? await use(ask, proposal) : outcome;
  await ask('UPDATE svc.proposal SET outcome = $2 WHERE n = $1', proposal, JSON.stringify(end));
  await ask('DELETE FROM svc.vote WHERE proposal <= $1', proposal - proposalsKept);
  await ask('DELETE FROM svc.proposal WHERE n <= $1', proposal - proposalsKept);
  return end;
}

async function use(ask: Ask, proposal: number): Promise<ProposalEnd> {
  const [row] = await ask<{ revision: string; by: string; text: string }>(
    'SELECT revision, by, text FROM svc.proposal WHERE n = $1',
    proposal,
  );
  const { revision, by, text } = row!;
  return { kind: 'used', n: await insertConfig(ask, { revision, by, text: fromText(text) }) };
}

function refusalOf({ refusal, ...voter }: VoterRow): InstanceRefusal | null {
  if (refusal === null) return null;
  return { instance: named(voter), ...readRefusal(fromText(refusal)) };
}
