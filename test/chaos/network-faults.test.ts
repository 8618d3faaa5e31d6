import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { networkFaults } from '../fake/fault-proxy.ts';
import { links, type Link } from './network-audit.ts';
import { matrixOf, type Cell } from './network-faults.ts';
import { between, withFindings } from './report.ts';
import { proofs } from './proofs.ts';

test('the matrix has a row a fault, a column a link, and no empty cell', () => {
  const linkNames = Object.keys(links) as Link[];
  const cells = networkFaults.flatMap((fault) =>
    linkNames.map((link): Cell => ({ link, fault, spoiled: 3, repeats: 0, ms: 5 })),
  );
  const rows = matrixOf(cells).split('\n');
  assert.equal(rows.length, 2 + 6);
  assert.equal(rows[2], `| cut |${' ok: 3 spoiled |'.repeat(5)}`);
  assert.throws(() => matrixOf(cells.slice(1)), /sender → webhook, cut was not tried/);
});

test('a table replaces what stands between its own marks, and nothing else', () => {
  const page = 'a <!-- x: begin --> old <!-- x: end --> b <!-- y: begin --><!-- y: end -->';
  const written = between(page, 'x', 'new');
  assert.equal(written.replaceAll('\n', ' '), page.replace(' old ', '  new  '));
  assert.throws(() => between(page, 'z', 'new'), /has no "<!-- z: begin -->"/);
});

test('every proof has its section on the page, and a run changes no other', () => {
  const path = join(import.meta.dirname, '../../docs/how-it-works/reliability.md');
  const page = readFileSync(path, 'utf8');
  const run = { size: 'change', amount: '3 blows', seed: 987, seconds: 1.23 } as const;
  const result = { kind: 'proved', figures: { blows: 3_000, lost: 0 }, table: '| a |' } as const;
  for (const { name, title } of proofs) {
    assert.ok(page.includes(`\n### ${name}\n`) || name === 'long-tests', name);
    const after = withFindings(page, [{ name, title, ...run, result }], '2027-01-02');
    assert.ok(after.includes(`| ${name} | 2027-01-02 | 3 blows | 1.2 | 987 |`));
    const found = 'Found:\n\n- 3,000 blows\n- 0 lost\n\n| a |';
    assert.ok(after.includes(`<!-- ${name}: begin -->\n\n${found}\n\n<!-- ${name}: end -->`));
    assert.equal(after.split('| 2027-01-02 |').length, 2);
    assert.equal(after.split('Found:').length - page.split('Found:').length < 2, true);
    assert.equal(after.includes('| discord-kill '), true);
  }
});
