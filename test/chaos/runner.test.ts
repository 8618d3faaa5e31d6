import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runApart } from './apart.ts';
import type { Proof, Proved } from './proof.ts';
import { summaryOf, tableOf } from './report.ts';
import { runProofs } from './runner.ts';

const proof = (name: string, run: () => Proved): Proof => ({
  name,
  title: `the title of ${name}`,
  unit: 'blows',
  sizes: { change: 50, nightly: 1_000 },
  run: async () => run(),
});

const proofs = [
  proof('good', () => ({ kind: 'proved', figures: { lost: 0, repeats: 1_200 } })),
  proof('absent', () => ({ kind: 'skipped', why: 'no compiler' })),
  proof('bad', () => assert.fail('one was lost')),
];

const run = async (chosen: readonly Proof[]) => {
  const lines: string[] = [];
  const findings = await runProofs(chosen, { size: 'change', seed: 7 }, (line) => lines.push(line));
  return { findings, lines };
};

test('a failure ends nothing and prints the line that does it again', async () => {
  const { findings, lines } = await run([...proofs].reverse());
  assert.equal(findings.length, 3);
  const again = 'npm run chaos -- --only bad --seed 7 --size change';
  assert.equal(lines.join('\n').split(again).length, 2);
  const good = /^good: ok in \d+\.\d s \(0 lost, 1,200 repeats\)$/;
  assert.equal(lines.filter((line) => good.test(line)).length, 1, lines.join('\n'));
});

test('what was skipped is said in capitals and is not counted as passed', async () => {
  const { findings } = await run(proofs);
  assert.match(tableOf(findings), /\| absent .* SKIPPED: no compiler /);
  const lines = summaryOf(findings).split('\n');
  assert.match(lines[0]!, /absent NOT PROVED, SKIPPED: no compiler/);
  assert.equal(lines.at(-1), '1 passed, 1 failed, 1 skipped');
});

test('two run at a time, and their findings stand in the order of the proofs', async () => {
  const both = Promise.withResolvers<void>();
  const running = new Set<string>();
  const meet = (name: string): Proof => ({
    ...proof(name, () => ({ kind: 'proved', figures: {} })),
    async run() {
      running.add(name);
      if (running.size === 2) both.resolve();
      // Alone, this would never end.
      await both.promise;
      if (name === 'first') await new Promise((resolve) => setImmediate(resolve));
      return { kind: 'proved', figures: {} };
    },
  });
  const order = { size: 'change', seed: 7 } as const;
  const chosen = [meet('first'), meet('second'), proofs[0]!];
  const findings = await runProofs(chosen, order, () => {}, { atOnce: 2 });
  assert.deepEqual(
    findings.map(({ name, result }) => [name, result.kind]),
    [
      ['first', 'proved'],
      ['second', 'proved'],
      ['good', 'proved'],
    ],
  );
});

test('a line tells every ten seconds what is under way', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const lines: string[] = [];
  const slow = Promise.withResolvers<Proved>();
  const chosen = [proofs[0]!, { ...proofs[0]!, name: 'slow', run: () => slow.promise }];
  const over = Promise.withResolvers<void>();
  const say = (line: string): void => {
    lines.push(line);
    if (line.startsWith('slow')) over.resolve();
  };
  const running = runProofs(chosen, { size: 'change', seed: 7 }, say);
  await over.promise;
  t.mock.timers.tick(10_000);
  assert.match(lines.at(-1)!, /^\d+ s: 1 of 2 are over, under way: slow$/);
  slow.resolve({ kind: 'proved', figures: {} });
  await running;
  const { length } = lines;
  t.mock.timers.tick(10_000);
  assert.equal(lines.length, length);
});

test('a proof whose process ends without a finding has failed', async () => {
  const order = { size: 'change', seed: 7 } as const;
  const unknown = proof('no proof is called so', () => ({ kind: 'proved', figures: {} }));
  const { result } = await runApart(unknown, order, () => {});
  assert.deepEqual(result, { kind: 'failed', why: 'its process ended with 1' });
});
