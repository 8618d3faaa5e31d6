/** Each prompt goes on from the one before, so that a prompt cache can use it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meanShare, promptsOf } from '../support/prompt-reuse.ts';

for (const provider of ['local_runtime', 'hosted_runtime'] as const) {
  test(`over 100 turns most of each prompt begins the next one (${provider})`, async () => {
    const { first, all } = await promptsOf({ provider, turns: 100, restarts: [30, 62] });
    assert.equal(all.length, 100);
    const share = meanShare(first);
    assert.ok(share >= 0.95, `${share}`);
    // The first cut comes with the 42nd message, also where the service has been started again.
    assert.equal(first[40]!.split('\n').length, 2 * 40 + 1);
    assert.equal(first[41]!.split('\n').length, 2 * 20 + 1);
    assert.equal(first[62]!.split('\n').length, 2 * 20 + 1);
  });
}

test('a brain with narrower bounds is shown less', async () => {
  const brain = { history: { turns: 4, characters: 100_000 } };
  const { first } = await promptsOf({ provider: 'hosted_runtime', turns: 12, brain });
  const counts = first.map((prompt) => (prompt.split('\n').length - 1) / 2);
  assert.deepEqual(counts, [0, 1, 2, 3, 4, 3, 4, 3, 4, 3, 4, 3]);
});
