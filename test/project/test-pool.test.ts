/** What the gate says of test files that fail, hang, die, or are not there. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { absences } from '../../scripts/attendance.ts';
import { FileRun, type FileOutcome } from '../../scripts/file-run.ts';
import { runFiles, type Outcome } from '../../scripts/test-pool.ts';
import { failuresOf, summaryOf } from '../../scripts/test-report.ts';
import { scratch } from '../support/program.ts';

const head = "import { test, suite, before, after } from 'node:test';\n";

/**
 * Runs such files, in this order.
 * @param files by their names: what stands in them, below the import of node:test
 */
async function run(
  files: Readonly<Record<string, string>>,
  { hangMs = 120_000, endMs = 120_000 } = {},
) {
  await using folder = await scratch();
  const paths = Object.keys(files).map((name) => join(folder.path, name));
  for (const path of paths) await writeFile(path, head + files[nameOf(path)]);
  const outcome = await runFiles({ files: paths, processes: 1, hangMs, endMs });
  const absent = absences(paths, outcome.files, 1).map((text) => text.split('/').at(-1));
  return { ...outcome, of: (name: string) => ofName(outcome, name), absent };
}

const nameOf = (path: string): string => path.split('/').at(-1)!;

function ofName({ files }: Outcome, name: string): FileOutcome {
  return files.find(({ file }) => nameOf(file) === name)!;
}

test('files of one process are counted together, as node:test counts', async () => {
  const all = await run({
    'one.mjs': `
      test('passes', (t) => t.test('and so does what is inside', () => {}));
      test.skip('skipped');
      test.todo('to do');`,
    'two.mjs': `suite('a suite', () => { test('fails', () => { throw new Error('no'); }); });`,
  });
  assert.deepEqual([all.absent, all.faults], [[], []]);
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

test('a failure is told with its file, line, stack and what was written', async () => {
  const all = await run({
    'fails.mjs': `
      test('is right', () => {});
      test('is wrong', (t) => {
        t.diagnostic('seed 17');
        console.log('some words');
        throw new Error('this is why');
      });`,
  });
  const told = failuresOf(all.files, '/');
  assert.match(
    told,
    /✖ is wrong \(\S+fails\.mjs:4\)\n {2}Error: this is why\n {6}at .*fails\.mjs:7/,
  );
  assert.match(told, /seed 17/);
  assert.match(told, /some words/);
  assert.doesNotMatch(told, /is right/);
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
  assert.equal(failuresOf(all.files, '/'), '');
});

test('a file without a test, or that cannot be loaded, is told', async () => {
  const all = await run({
    'empty.mjs': '',
    'broken.mjs': "throw new Error('cannot be loaded');",
    'good.mjs': "test('good', () => {});",
  });
  assert.deepEqual(all.absent, ['empty.mjs has run no test', 'broken.mjs has run no test']);
  assert.match(failuresOf(all.files, '/'), /cannot be loaded/);
  assert.equal(all.of('good.mjs').results.length, 1);
});

test('a process that dies costs the file that it was at', async () => {
  const all = await run({
    'good.mjs': "test('good', () => {});",
    'dies.mjs': "test('dies', () => process.exit(0)); test('never', () => {});",
    'next.mjs': "test('next', () => {});",
  });
  assert.deepEqual(all.absent, ['dies.mjs did not come to its end']);
  assert.match(all.of('dies.mjs').faults.join(), /^its process died/);
  assert.equal(all.of('next.mjs').results.length, 1);
});

test('a file that hangs is named', async () => {
  const all = await run(
    {
      'blocks.mjs': "test('blocks', () => { for (;;); });",
      'waits.mjs': "test('waits', () => new Promise(() => { setInterval(() => {}, 1_000); }));",
    },
    { hangMs: 500 },
  );
  const named = ['blocks.mjs did not come to its end', 'waits.mjs did not come to its end'];
  assert.deepEqual(all.absent.slice(0, 2), named);
  for (const { faults } of all.files) assert.match(faults.join(), /^it hangs/);
});

test('a test that hangs is named', () => {
  const file = new FileRun('a.test.ts');
  file.heard({ kind: 'began', name: 'waits' });
  assert.deepEqual(file.outcome(1, '', 'hung').faults, ['it hangs at "waits"']);
});

test('what a file leaves changed for the next ones is told', async () => {
  const all = await run({
    'variable.mjs': "test('sets', () => { process.env.LEFT = '1'; });",
    'listener.mjs': "test('listens', () => { process.on('SIGHUP', () => {}); });",
    'global.mjs': "test('replaces', () => { globalThis.fetch = null; });",
    'tidy.mjs': "test('puts back', () => { process.env.A = '1'; delete process.env.A; });",
  });
  const faults = all.files.map((one) => one.faults);
  assert.deepEqual(faults, [
    ['it leaves the variable LEFT changed'],
    ['it leaves the listeners of SIGHUP changed'],
    ['it leaves the global fetch changed'],
    [],
  ]);
});

test('an error that comes after its test is told', async () => {
  const all = await run({
    'late.mjs': "test('late', () => { setImmediate(() => { throw new Error('late'); }); });",
  });
  const told = [...all.faults, failuresOf(all.files, '/')].join('\n');
  assert.match(told, /"late" at .* generated asynchronous activity after the test ended/);
});

test('a process that something holds open is told', async () => {
  const all = await run(
    { 'open.mjs': "test('opens', () => { setInterval(() => {}, 1_000); });" },
    { endMs: 500 },
  );
  assert.match(all.faults.join(), /does not end after .*open\.mjs/);
});

test('a whole run has at least so many tests', () => {
  const one: FileOutcome = {
    file: 'a.test.ts',
    results: [
      { kind: 'test', name: 'a', nesting: 1, state: 'passed', why: null, at: '', error: null },
      { kind: 'suite', name: 'b', nesting: 1, state: 'passed', why: null, at: '', error: null },
    ],
    ms: 1,
    cpuMs: 1,
    output: '',
    said: [],
    isOver: true,
    faults: [],
  };
  assert.deepEqual(absences(['a.test.ts'], [one], 1), []);
  assert.deepEqual(absences(['a.test.ts'], [one], 2), [
    '1 tests have run, and there are at least 2',
  ]);
  assert.deepEqual(absences(['a.test.ts', 'b.test.ts'], [one], 1), ['b.test.ts was not run']);
});
