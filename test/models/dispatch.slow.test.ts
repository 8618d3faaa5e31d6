/**
 * Every combination of dispatch, policy and failure at each rank, and a brain's decision, over
 * sockets. Every case has its own servers; product/expected.ts computes the expected result.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TraceStep } from '../../src/domain/trace.ts';
import { makeCases, type Case } from '../product/cases.ts';
import { expected, isClosed } from '../product/expected.ts';
import { play, rankOf, type Played } from '../product/run-case.ts';

const cases = makeCases();

test(`${cases.length} cases of dispatch, policy and failure`, { concurrency: 8 }, async (t) => {
  await Promise.all(cases.map((given) => t.test(given.title, () => check(given))));
});

async function check(given: Case): Promise<void> {
  const wanted = expected(given);
  const { decision, heard, steps, astray } = await play(given);
  if (wanted.apology === null) {
    assert.ok(decision.kind === 'reply', `an apology: ${JSON.stringify(decision)}`);
    assert.equal(decision.text, wanted.reply);
    assert.equal(rankOf(decision.model), wanted.winner);
  } else {
    assert.ok(decision.kind === 'apology', `a reply: ${JSON.stringify(decision)}`);
    assert.equal(decision.apology, wanted.apology);
  }
  const open = wanted.asked.filter((rank) => !isClosed(given, rank));
  const log = (ranks: readonly number[]): string =>
    (given.dispatch === 'sequential' ? ranks : ranks.toSorted((a, b) => a - b)).join(' ');
  assert.equal(log(heard), log(open));
  assert.equal(astray, 0, 'a redirect was followed');
  assert.deepEqual(traced(steps), {
    tries: wanted.tries,
    results: Object.entries(wanted.tries).map(([rank, tries]) => [Number(rank), tries.at(-1)]),
    policy: given.policy,
    verdict: wanted.apology === null ? 'reply' : 'none',
    winner: wanted.winner,
    votes: wanted.votes,
  });
}

function traced(steps: Played['steps']): object {
  const models = steps.filter((step) => step.kind === 'model');
  const last = steps.at(-1);
  assert.ok(last?.kind === 'policy', 'the policy speaks last');
  for (const step of models) assertTimes(step);
  return {
    tries: Object.fromEntries(
      models.map(({ model, tries }) => [
        rankOf(model),
        tries.map(({ failed }) => failed ?? 'answer'),
      ]),
    ),
    results: models.map(({ rank, result }) => [rank, result]),
    policy: last.policy,
    verdict: last.verdict,
    winner: last.winner === null ? null : rankOf(last.winner),
    votes: last.votes.map((group) => group.map(rankOf)),
  };
}

function assertTimes({ startMs, ms, rank, model }: TraceStep & { kind: 'model' }): void {
  assert.ok(startMs >= 0 && ms >= 0);
  assert.equal(rank, rankOf(model));
}
