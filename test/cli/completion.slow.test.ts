/** `svc completion`, in the shells themselves: Tab offers the words that the commands accept. */
import assert from 'node:assert/strict';
import { spawn } from '@lydell/node-pty';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';

/** The path of a shell, or null. */
function shellAt(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.map((one) => join(one, name)).find((one) => existsSync(one)) ?? null;
}

async function scriptIn(folder: string, shell: string): Promise<string> {
  const { code, out } = await runCommand(['completion', shell]);
  assert.equal(code, 0);
  const file = join(folder, `svc.${shell}`);
  writeFileSync(file, out);
  writeFileSync(join(folder, 'kept here.json'), '{}');
  mkdirSync(join(folder, 'sub'));
  return file;
}

/** A typed line, with the word to complete last, and the offers of a Tab for it. */
const cases: readonly (readonly [line: string, ...offered: string[]])[] = [
  ['svc conf', 'config'],
  ['svc config ', 'check', 'history', 'schema', 'show', 'use'],
  ['svc dead-letters re', 'replay'],
  ['svc help st', 'status'],
  ['svc serve --log', '--log-level'],
  ['svc serve --log-level d', 'debug'],
  ['svc serve --web', '--webhook-bind'],
  ['svc serve --admin-addr '],
  ['svc dead-letters replay --', '--all', '--config', '--help', '--reason'],
  ['svc tail --kind turn_', 'turn_finished', 'turn_started'],
  ['svc completion ', 'bash', 'fish', 'zsh'],
  ['svc nothing-of-the-kind '],
  ['svc send --as '],
];

const fileCases = [
  'svc serve --config kept',
  'svc config check --preflight kept',
  'svc demo --db kept',
] as const;

const bash = shellAt('bash');

test(
  'bash completes commands, flags, values and files',
  { skip: without(bash, 'bash') },
  async () => {
    await using folder = await scratch();
    const script = await scriptIn(folder.path, 'bash');
    const complete = (line: string): string[] => {
      const words = line.split(/ |(=)/).filter((word) => word !== undefined);
      const text = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc
      printf '%s\\n' "\${COMPREPLY[@]}"; complete -p svc >&2`;
      const args = ['--norc', '-c', text, script, ...words];
      const out = execFileSync(bash!, args, { cwd: folder.path, encoding: 'utf8', stdio: 'pipe' });
      return out.split('\n').filter((one) => one !== '');
    };
    for (const [line, ...offered] of cases) assert.deepEqual(complete(line).sort(), offered, line);
    for (const line of fileCases) assert.deepEqual(complete(line), ['kept here.json'], line);
    assert.deepEqual(complete('svc serve --config=kept'), ['kept here.json']);
    assert.deepEqual(complete('svc serve --config='), ['kept here.json', 'sub', 'svc.bash']);
  },
);

const fish = shellAt('fish');

test('fish completes the same', { skip: without(fish, 'fish') }, async () => {
  await using folder = await scratch();
  const script = await scriptIn(folder.path, 'fish');
  const complete = (line: string): string[] => {
    const text = `source ${script}; complete -C ${JSON.stringify(line)}`;
    const env = { ...process.env, HOME: folder.path, XDG_CONFIG_HOME: folder.path };
    const out = execFileSync(fish!, ['--no-config', '-c', text], {
      cwd: folder.path,
      env,
      encoding: 'utf8',
    });
    return out.split('\n').flatMap((one) => one.split('\t')[0] || []);
  };
  for (const [line, ...offered] of cases) assert.deepEqual(complete(line).sort(), offered, line);
  for (const line of fileCases)
    assert.match(complete(line).join(), /^kept(?:\\)? here\.json$/, line);
});

const zsh = shellAt('zsh');

test('zsh completes the same', { skip: without(zsh, 'zsh') }, async () => {
  await using folder = await scratch();
  const script = await scriptIn(folder.path, 'zsh');
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const env = { ...own, TERM: 'xterm', HOME: folder.path, ZDOTDIR: folder.path };
  const terminal = spawn(zsh!, ['-f', '-i'], { cols: 200, rows: 50, cwd: folder.path, env });
  let written = '';
  // Without control sequences, and without characters that were deleted at once.
  const seen = (): string => stripVTControlCharacters(written).replace(/.[\b]/g, '');
  let look = (): void => {};
  terminal.onData((text) => {
    written += text;
    look();
  });
  const ended = new Promise<void>((resolve) =>
    terminal.onExit(() => {
      look = () => {};
      resolve();
    }),
  );
  const until = (text: string): Promise<void> => {
    const found = new Promise<void>((resolve) => {
      look = () => (seen().includes(text) ? resolve() : undefined);
      look();
    });
    const over = ended.then(() => assert.fail(`ended without ${text}: ${seen()}`));
    return Promise.race([found, over]);
  };
  try {
    terminal.write(`autoload -U compinit; compinit -u -D; source ${script}; PROMPT='re''ady> '\r`);
    await until('ready> ');
    for (const [line, wanted] of [
      ['svc conf', 'svc config '],
      ['svc dead-letters re', 'svc dead-letters replay '],
      ['svc serve --log', 'svc serve --log-level '],
      ['svc serve --log-level d', 'svc serve --log-level debug '],
      ['svc serve --config kept', String.raw`svc serve --config kept\ here.json `],
      ['svc serve --config=kept', String.raw`svc serve --config=kept\ here.json`],
      ['svc config check kept', String.raw`svc config check kept\ here.json `],
    ] as const) {
      written = '';
      terminal.write(`${line}\t`);
      await until(wanted);
      written = '';
      // Empties the line; a signal could meet a completion that still runs.
      terminal.write('\u0015\r');
      await until('ready> ');
    }
  } finally {
    terminal.kill('SIGKILL');
    await ended.catch(() => {});
  }
});

function without(shell: string | null, name: string): string | false {
  return shell === null ? `there is no ${name} on this machine` : false;
}

test('a shell that is not known is told which are', async () => {
  for (const args of [[], ['tcsh']]) {
    const { code, err } = await runCommand(['completion', ...args]);
    assert.equal(code, 2);
    assert.match(err, /Say which shell: bash, zsh, fish\./);
  }
});
