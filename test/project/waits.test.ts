/** No test depends on the machine's speed: none has a fixed wait, a time bound or a port. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const waiting = 'test/support/waiting.ts';
const own = 'test/project/waits.test.ts';
const files = globSync(['test/**/*.ts', '{src,apps,web,scripts}/**/*.test.{ts,tsx}'], { cwd: root })
  .filter((file) => ![waiting, own].includes(file))
  .filter((file) => !file.startsWith('test/planted/'));

const number = '[1-9][\\d_]*';
/** The seconds of a platform's API do not match. */
const milliseconds = '[1-9]\\d*_?\\d{3}';
const rules = {
  'waits a fixed time: wait for an event, or by `until`': [
    `\\bsetTimeout\\([^()]*(?:\\([^()]*\\)[^()]*)*,\\s*${number}\\)`,
    `\\b(?:pause|sleep|wait|delay)\\(${number}\\)`,
    `\\bwaitForTimeout\\(`,
  ],
  [`has a bound of its own: use \`patienceMs\` of ${waiting}`]: [
    `\\bAbortSignal\\.timeout\\(${number}\\)`,
    `\\btimeout:\\s*${milliseconds}`,
    `\\b(?:within|giveUp|patience)Ms\\s*[=:]\\s*${number}`,
    `\\bbusy_timeout\\s*=\\s*${number}`,
  ],
  'asserts how long something took: count, or leave speed to the benchmark': [
    `\\bassert\\.ok\\(\\s*(?:performance|Date)\\.now\\(\\)\\s*-\\s*[\\w.!]+\\s*<`,
    `\\bMath\\.abs\\([^;]*\\b(?:performance|Date)\\.now\\(\\)[^;]*\\)\\s*<\\s*${milliseconds}`,
  ],
  'listens on a fixed port: use port 0, or `freePort`': [`\\.listen\\(\\s*${number}`],
} as const;

/** Matches of a rule, with the reason why each is harmless. */
const harmless: Readonly<Record<string, string>> = {
  'test/documents/stages.ts': 'the page names the port; it runs in a network of its own',
};

const breaches = (file: string, text: string): readonly string[] =>
  Object.entries(rules).flatMap(([rule, patterns]) =>
    patterns.flatMap((pattern) =>
      [...text.matchAll(new RegExp(pattern, 'g'))].map(({ index }) => {
        const line = text.slice(0, index).split('\n').length;
        return `${file}:${line} ${rule}`;
      }),
    ),
  );

test('no test waits a fixed time, has a bound of its own, or a fixed port', () => {
  const found = files.flatMap((file) => breaches(file, readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(
    found.filter((one) => !Object.keys(harmless).some((file) => one.startsWith(`${file}:`))),
    [],
  );
});

test('each rule sees what it is there for', () => {
  const samples = [
    'await new Promise((resolve) => setTimeout(resolve, 20));',
    'setTimeout(() => server.close(), 1_000)',
    'await pause(100);',
    'const signal = AbortSignal.timeout(5_000);',
    "test('x', { timeout: 60_000 }, () => {})",
    'const withinMs = 30_000;',
    'assert.ok(performance.now() - from < 9_000)',
    'assert.ok(Math.abs(at - Date.now()) < 60_000)',
    'PRAGMA busy_timeout = 5000',
    'server.listen(8090)',
  ];
  assert.deepEqual(
    samples.filter((text) => breaches('a.test.ts', text).length === 0),
    [],
  );
  const fine = ['server.listen(0)', 'await pause(share * strikeMsMax)', 'timeout: patienceMs'];
  assert.deepEqual(
    fine.flatMap((text) => breaches('a.test.ts', text)),
    [],
  );
});
