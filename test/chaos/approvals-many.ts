/** Calls that need approval, with two svc on one database that decide at the same time. */
import { noOwnPostgres } from '../fake/postgres.ts';
import { campaign } from './approvals/campaign.ts';
import { seeded, type Proof } from './proof.ts';

/** The other svc takes over the conversations of a killed one once that counts as dead. */
const betweenMs = 3_000;

export const approvalsMany: Proof = {
  name: 'approvals-many',
  title:
    'Calls that ask first, two svc on one database that both decide, SIGKILL at every step: ' +
    'nothing runs without a yes, or twice, nothing is left hanging',
  unit: 'orders',
  sizes: { change: 10, nightly: 500 },
  async run(count, seed, say) {
    if (noOwnPostgres !== false) return { kind: 'skipped', why: noOwnPostgres };
    const random = seeded(seed);
    const figures = await campaign({
      backend: 'PostgreSQL',
      random,
      orders: count,
      betweenMs,
      say,
    });
    return { kind: 'proved', figures };
  },
};
