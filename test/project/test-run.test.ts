/** The report on test files that fail, hang, die, or are missing. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { failuresOf, summaryOf } from '../../scripts/test-report.ts';
import type { Options, Outcome } from '../../scripts/test-run.ts';
import { callApart } from '../support/call-apart.ts';
import { scratch } from '../support/program.ts';
import { patienceMs, until } from '../support/waiting.ts';

const runner = import.meta.resolve('../../scripts/test-run.ts');
const head = "import { test, suite, before, after } from 'node:test';\n";

/**
 * Runs such files, in this order.
 * @param files names, with the code below the import of node:test
 */
async function run(files: Readonly<Record<string, string>>, silenceMsMax = 2 * patienceMs) {
  await using folder = await scratch();
  const paths = Object.keys(files).map((name) => join(folder.path, name));
  for (const path of paths) await writeFile(path, head + files[basename(path)]);
  const options: Options = { files: paths, processes: 1, silenceMsMax };
  const outcome = (await callApart(runner, 'runFiles', options)) as Outcome;
  const of = (name: string) => outcome.files.find(({ file }) => basename(file) === name)!;
  return { ...outcome, of, report: failuresOf(outcome, folder.path) };
}

test('files of one process are counted together, as node:test counts', async () => {
  const all = await run({
    'one.mjs': `
      test('passes', (t) => t.test('and so does what is inside', () => {}));
      test.skip('skipped');
      test.todo('to do');`,
    'two.mjs': `suite('a suite', () => { test('fails', () => { throw new Error('no'); }); });`,
  });
  const counts = [...summaryOf(all, 0).matchAll(/^ℹ (\w+) (\d+)$/gm)].map(([, a, b]) => [a, b]);
  assert.deepEqual(Object.fromEntries(counts), {
    tests: '5',
    suites: '1',
    pass: '2',
    fail: '1',
    cancelled: '0',
    skipped: '1',
    todo: '1',
    duration_ms: '0',
  });
});

test('a failure is reported with its file, line, stack and what was written', async () => {
  const all = await run({
    'fails.mjs': `
      test('is right', () => {});
      test('is wrong', (t) => {
        t.diagnostic('seed 17');
        console.log('some words');
        throw new Error('this is why');
      });`,
  });
  assert.match(
    all.report,
    /✖ is wrong \(fails\.mjs:4\)\n {2}Error: this is why\n {6}at .*fails\.mjs:7/,
  );
  assert.match(all.report, /seed 17/);
  assert.match(all.report, /some words/);
  assert.doesNotMatch(all.report, /is right/);
});

test('hooks of a file end with it', async () => {
  const all = await run({
    'one.mjs': `
      globalThis.began = 0;
      before(() => { globalThis.began++; });
      after(() => { globalThis.ended = true; });
      test('one', () => {});`,
    'two.mjs': `test('two', () => {
      if (globalThis.began !== 1 || globalThis.ended !== true) throw new Error('not ended');
    });`,
  });
  assert.equal(all.report, '');
});

test('a file without a test, or that cannot be loaded, is reported', async () => {
  const all = await run({
    'empty.mjs': '',
    'broken.mjs': "throw new Error('cannot be loaded');",
    'good.mjs': "test('good', () => {});",
  });
  assert.deepEqual(all.of('empty.mjs').faults, ['it has run no test']);
  assert.deepEqual(all.of('broken.mjs').faults, ['it has run no test']);
  assert.match(all.report, /broken\.mjs\n✖ the file\n {2}Error: cannot be loaded/);
  assert.equal(all.of('good.mjs').results.length, 1);
});

test('a process that dies costs the file that it was at', async () => {
  const all = await run({
    'good.mjs': "test('good', () => {});",
    'dies.mjs': "test('dies', () => process.exit(0)); test('never', () => {});",
    'next.mjs': "test('next', () => {});",
  });
  assert.match(all.of('dies.mjs').faults.join(), /^its process ended with 0/);
  assert.equal(all.of('next.mjs').results.length, 1);
});

test('a file that hangs is named, and so is its test', async () => {
  const waits = "test('waits', () => new Promise(() => { setInterval(() => {}, 1_000); }));";
  await reportsSilence({ 'waits.mjs': waits }, /waits\.mjs\n✖ it hangs at "waits"/);
  const blocks = "test('blocks', () => { for (;;); });";
  await reportsSilence({ 'blocks.mjs': blocks }, /blocks\.mjs\n✖ it hangs/);
});

/** Runs the files with growing patience, for a machine of any speed. */
async function reportsSilence(files: Readonly<Record<string, string>>, wanted: RegExp) {
  let ms = 500;
  await until(String(wanted), async () => wanted.test((await run(files, (ms *= 2))).report));
}

test('what a file leaves changed for the next ones is reported', async () => {
  const all = await run({
    'variable.mjs': "test('sets', () => { process.env.LEFT = '1'; });",
    'listener.mjs': "test('listens', () => { process.on('SIGHUP', () => {}); });",
    'global.mjs': "test('replaces', () => { globalThis.fetch = null; });",
    'tidy.mjs': "test('puts back', () => { process.env.A = '1'; delete process.env.A; });",
  });
  assert.deepEqual(all.report.match(/it leaves .*/g), [
    'it leaves the variable LEFT changed',
    'it leaves the listeners of SIGHUP changed',
    'it leaves the global fetch changed',
  ]);
});

test('an error that comes after its test is reported', async () => {
  const all = await run({
    'late.mjs': "test('late', () => { setImmediate(() => { throw new Error('late'); }); });",
  });
  assert.match(all.report, /"late" at .* generated asynchronous activity after the test ended/);
});

test('a process that something holds open is reported', async () => {
  const opens = "test('opens', () => { setInterval(() => {}, 1_000); });";
  await reportsSilence({ 'open.mjs': opens }, /✖ a process does not end after .*open\.mjs/);
});
