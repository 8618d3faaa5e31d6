/**
 * Calls that need approval: many people ask, approvers decide in every possible way, and other
 * people try to. SIGKILL ends svc between the question, the decision, the run and the report.
 */
import { campaign } from './approvals/campaign.ts';
import { seeded, together, type Proof } from './proof.ts';

/** This share is asked without storage, where nothing outlives a kill. */
const heldShare = 0.25;
const betweenMs = 300;

export const approvals: Proof = {
  name: 'approvals',
  title:
    'Calls that ask first, SIGKILL at every step: nothing runs without a yes, or twice, nothing ' +
    'is left hanging; who may not decide, is late or second changes nothing',
  unit: 'orders',
  sizes: { change: 25, nightly: 1_000 },
  async run(count, seed, say) {
    const orders = Math.ceil(count * heldShare);
    const held = { backend: 'memory', random: seeded(seed + 1), orders, betweenMs: null } as const;
    const stored = { backend: 'SQLite', random: seeded(seed), orders: count, betweenMs } as const;
    const [figures] = await together([
      () => campaign({ ...stored, say }),
      () => campaign({ ...held, say }),
    ]);
    return { kind: 'proved', figures: { ...figures, 'orders without storage': orders } };
  },
};
