import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Proof, Proved } from './proof.ts';
import { summaryOf, tableOf } from './report.ts';
import { runProofs } from './runner.ts';

const proof = (name: string, run: () => Proved): Proof => ({
  name,
  title: `the title of ${name}`,
  unit: 'blows',
  sizes: { test: 2, change: 50, nightly: 1_000 },
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
