/** Every block of the documents runs, or has a mark with the reason why not. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/run-svc.ts';
import { blocksOf, isShell, pages, textOf, type Block } from './blocks.ts';
import { faultOf, fresh, isRun, marks, stopped, testsOf } from './marks.ts';
import { stages } from './stages.ts';

const all = pages.flatMap((page) => blocksOf(textOf(page)).map((block) => ({ page, block })));

function blockOf(info: string, text: string): Block {
  const [block] = blocksOf(`\`\`\`${info}\n${text}\n\`\`\`\n`);
  return block!;
}

test('every mark is known, and the block holds what it is for', () => {
  for (const { page, block } of all) {
    if (!isShell(block)) continue;
    assert.equal(faultOf(block), null, `${page}:${block.line}`);
  }
});

test('no mark is without a block', () => {
  const used = new Set(
    all.filter(({ block }) => isShell(block)).flatMap(({ block }) => block.info),
  );
  for (const mark of [...Object.keys(marks), stopped, fresh]) assert.ok(used.has(mark), mark);
});

test('an unknown mark, two, and one without need are faults', () => {
  assert.match(faultOf(blockOf('sh later', 'svc status')) ?? '', /later is no mark/);
  assert.match(faultOf(blockOf('sh systemd docker', 'systemctl')) ?? '', /one mark is enough/);
  assert.match(faultOf(blockOf('sh systemd', 'svc status')) ?? '', /nothing in it needs systemd/);
  assert.equal(faultOf(blockOf('sh systemd', 'sudo systemctl start svc')), null);
  assert.equal(faultOf(blockOf('sh stopped', 'svc migrate --to ./svc.db')), null);
});

test('a command stands in a block of the shell, and nowhere else', () => {
  for (const { page, block } of all) {
    const [language = ''] = block.info;
    assert.doesNotMatch(language, /^(?:bash|shell|zsh|console|shell-session)$/, page);
    if (isShell(block)) continue;
    assert.doesNotMatch(block.text, /^(?:sudo |\.?\/?svc |npm |curl )/m, `${page}:${block.line}`);
  }
});

test('a test of its own runs what is run apart', () => {
  for (const { page, block } of all) {
    const mark = block.info.find((word) => word === 'apart' || word === 'terminal');
    if (!isShell(block) || mark === undefined) continue;
    const place = testsOf[page];
    assert.ok(place !== undefined, `${page}:${block.line}`);
    const [file, words] = place;
    assert.ok(readFileSync(join(root, file), 'utf8').includes(words), `${file}: ${words}`);
  }
});

test('every stage is that of a page with something to run', () => {
  const run = all.filter(({ block }) => isShell(block) && isRun(block));
  const running = new Set(run.map(({ page }) => page));
  for (const page of Object.keys(stages)) assert.ok(running.has(page), page);
});

/** The sentence above a block for which the reader opens another terminal. */
const turns = /\b(?:another|second|third) terminal\b/;

test('what is said to another terminal knows nothing of the first', () => {
  let found = 0;
  for (const { page, block } of all) {
    if (!isShell(block) || !isRun(block)) continue;
    const lines = textOf(page)
      .split('\n')
      .slice(0, block.line - 1);
    const from = lines.findLastIndex((line) => /^ *```/.test(line)) + 1;
    if (!lines.slice(from).some((line) => turns.test(line))) continue;
    found += 1;
    assert.ok(block.info.includes(fresh), `${page}:${block.line}`);
  }
  assert.ok(found > 2);
});

test('a page that names a file of the examples says where they come from', () => {
  const own = /^docs\/(?:get-started|recipes|how-to|reference|how-it-works)\//;
  const users = pages.filter(
    (page) => own.test(page) && /(?:^|[ `])examples\/\w/m.test(textOf(page)),
  );
  const given = Object.keys(stages).filter((page) => stages[page]!.examples === true);
  assert.ok(users.length > 2);
  for (const page of [...users, ...given]) {
    assert.match(textOf(page), /\binstall\.md#the-examples\b/, page);
  }
});

test('every page with something to run is where a test looks for it', () => {
  for (const { page, block } of all) {
    if (!isShell(block) || !isRun(block)) continue;
    const where =
      /^(?:README\.md$|examples\/|docs\/(?:get-started|recipes|how-to|reference|how-it-works)\/)/;
    assert.match(page, where);
  }
});
