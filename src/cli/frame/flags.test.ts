import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags, wholeNumber } from './flags.ts';

const table = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

function wrong(args: readonly string[], most = 0): string {
  const parsed = parseFlags(args, table, most);
  assert.equal(parsed.kind, 'wrong');
  return parsed.kind === 'wrong' ? parsed.message : '';
}

test('flags that are not given are null and false', () => {
  assert.deepEqual(parseFlags([], table), {
    kind: 'parsed',
    flags: { config: null, json: false },
    positionals: [],
  });
});

test('a value may stand after a space or an equals sign', () => {
  for (const args of [
    ['--config', 'a.json', '--json'],
    ['--json', '--config=a.json'],
  ]) {
    const parsed = parseFlags(args, table);
    assert.equal(parsed.kind, 'parsed');
    if (parsed.kind === 'parsed') {
      assert.deepEqual({ ...parsed.flags }, { config: 'a.json', json: true });
    }
  }
});

test('an unknown flag is wrong, and the nearest one is named', () => {
  assert.match(wrong(['--confg', 'x']), /no flag --confg here. Did you mean --config\?/);
  assert.match(wrong(['--zzzzzz']), /no flag --zzzzzz here\.$/);
  assert.match(wrong(['-x']), /no flag -x/);
  assert.match(wrong(['--constructor']), /no flag --constructor/);
});

test('a missing value, a value too many and an argument too many are wrong', () => {
  assert.match(wrong(['--config']), /--config needs a value/);
  assert.match(wrong(['--config', '--json']), /--config needs a value/);
  assert.match(wrong(['--json=yes']), /--json takes no value/);
  assert.match(wrong(['a', 'b'], 1), /"b" is one argument too many/);
});

test('a value may be a negative number, as the id of a Telegram group and its topic are', () => {
  for (const id of ['-100123', '-100123:7']) {
    const parsed = parseFlags(['--config', id, '--json'], table);
    assert.deepEqual(parsed.kind === 'parsed' && { ...parsed.flags }, { config: id, json: true });
  }
  assert.match(wrong(['--config', '-1x']), /--config needs a value/);
});

test('after -- everything is an argument', () => {
  const parsed = parseFlags(['--', '--json'], table, 1);
  assert.deepEqual(parsed.kind === 'parsed' && parsed.positionals, ['--json']);
});

test('a whole number is digits within the limits', () => {
  assert.equal(wholeNumber('8090', 0, 65535), 8090);
  for (const text of ['', '-1', '1.5', '1e3', '65536', ' 1']) {
    assert.equal(wholeNumber(text, 0, 65535), null, text);
  }
});

test('a flag of several values has all of them, in their order', () => {
  const several = { brain: { type: 'strings' } } as const;
  const flagsOf = (args: readonly string[]): unknown => {
    const parsed = parseFlags(args, several);
    return parsed.kind === 'parsed' ? parsed.flags.brain : parsed.message;
  };
  assert.deepEqual(flagsOf([]), []);
  assert.deepEqual(flagsOf(['--brain', 'b', '--brain=a', '--brain', 'b']), ['b', 'a', 'b']);
  assert.match(String(flagsOf(['--brain'])), /needs a value/);
});
