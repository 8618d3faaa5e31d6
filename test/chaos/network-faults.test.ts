import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkFaults } from '../fake/fault-proxy.ts';
import { links, type Link } from './network-audit.ts';
import { matrixOf, type Cell } from './network-faults.ts';
import { between } from './report.ts';

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
