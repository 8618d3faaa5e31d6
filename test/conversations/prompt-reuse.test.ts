/** Each prompt continues the one before, so that a prompt cache can use it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meanShare, promptsOf, talks } from '../support/prompt-reuse.ts';

for (const [name, talk] of Object.entries(talks)) {
  for (const provider of ['local_runtime', 'hosted_runtime'] as const) {
    test(`over 100 turns most of each prompt begins the next: ${name}, ${provider}`, async () => {
      const { first, all } = await promptsOf({ ...talk, provider });
      assert.equal(first.length, 100);
      for (const prompts of [first, all]) {
        const share = meanShare(prompts);
        assert.ok(share >= 0.95, `${share}`);
      }
    });
  }
}

test('where the view was cut outlasts the service', async () => {
  const { first } = await promptsOf({ ...talks['a brain'], turns: 64, restarts: [30, 42, 61] });
  const turnsIn = (prompt: string): number => (prompt.split('\n').length - 1) / 2;
  // The first cut comes with the 42nd message.
  assert.deepEqual(
    [40, 41, 42, 61, 62].map((turn) => turnsIn(first[turn]!)),
    [40, 20, 21, 40, 20],
  );
  assert.ok(meanShare(first) >= 0.95);
});

test('a brain with narrower bounds is shown less', async () => {
  const brain = { history: { turns: 4, characters: 100_000 } };
  const { first } = await promptsOf({ provider: 'hosted_runtime', turns: 12, brain });
  const counts = first.map((prompt) => (prompt.split('\n').length - 1) / 2);
  assert.deepEqual(counts, [0, 1, 2, 3, 4, 3, 4, 3, 4, 3, 4, 3]);
});
