import assert from 'node:assert/strict';
import { test } from 'node:test';
import { later, type SteadyTime } from '../../lib/clock.ts';
import { codeMs, idleMs, SignIn, type Traded } from './sign-in.ts';

function stage(keptMs?: number) {
  let now = 0 as SteadyTime;
  const told: Traded[] = [];
  const signIn = new SignIn(
    () => now,
    (traded) => told.push(traded),
    keptMs,
  );
  const pass = (ms: number): void => {
    now = later(now, ms);
  };
  const enter = (): string => {
    const traded = signIn.trade(signIn.offer());
    assert.equal(traded.kind, 'token');
    return traded.kind === 'token' ? traded.token : '';
  };
  return { signIn, told, pass, enter };
}

test('a code of 128 bits is traded for a token, which is the only one that counts', () => {
  const { signIn, told } = stage();
  const code = signIn.offer();
  assert.equal(Buffer.from(code, 'base64url').length, 16);
  assert.notEqual(code, signIn.offer());
  assert.ok(!signIn.matches(code), 'a code is no token');
  const traded = signIn.trade(signIn.offer());
  assert.ok(traded.kind === 'token' && signIn.matches(traded.token));
  assert.ok(!signIn.matches(''));
  assert.deepEqual(told, [traded]);
});

test('what was never offered is refused, and changes nothing', () => {
  const { signIn, told, enter } = stage();
  const token = enter();
  assert.deepEqual(signIn.trade('AAAAAAAAAAAAAAAAAAAAAA'), { kind: 'refused', why: 'unknown' });
  assert.ok(signIn.matches(token));
  assert.equal(told.length, 1, 'a code that was never offered is nobody’s');
});

test('a second use of a code withdraws the token that it gave', () => {
  const { signIn, told } = stage();
  const code = signIn.offer();
  const first = signIn.trade(code);
  const { ended } = signIn;
  assert.deepEqual(signIn.trade(code), { kind: 'refused', why: 'used_twice' });
  assert.ok(first.kind === 'token' && !signIn.matches(first.token));
  assert.ok(ended.aborted, 'and whoever waits with it is told');
  assert.equal(signIn.withdrawn, 'code_used_twice');
  assert.deepEqual(told.at(-1), { kind: 'refused', why: 'used_twice' });
});

test('a second use is known as one when another code was used since', () => {
  const { signIn, enter } = stage();
  const first = signIn.offer();
  signIn.trade(first);
  const token = enter();
  assert.equal(signIn.trade(first).kind, 'refused');
  assert.ok(!signIn.matches(token));
});

test('whoever came first has no second way in: no code that was offered to them is good', () => {
  const { signIn } = stage();
  const code = signIn.offer();
  signIn.trade(code);
  const next = signIn.offer();
  assert.equal(signIn.trade(code).kind, 'refused');
  assert.deepEqual(signIn.trade(next), { kind: 'refused', why: 'late' });
});

test('a second use is known as one, however many codes were offered or used since', () => {
  const { signIn, pass } = stage();
  const code = signIn.offer();
  pass(codeMs);
  signIn.trade(code);
  for (let count = 0; count < 20; count++) signIn.trade(signIn.offer());
  for (let count = 0; count < 20; count++) signIn.offer();
  pass(codeMs);
  assert.deepEqual(signIn.trade(code), { kind: 'refused', why: 'used_twice' });
});

test('a code is good for 60 s, and until there is a newer one', () => {
  const { signIn, pass } = stage();
  const late = signIn.offer();
  pass(codeMs + 1);
  assert.deepEqual(signIn.trade(late), { kind: 'refused', why: 'late' });
  const replaced = signIn.offer();
  const inTime = signIn.offer();
  assert.deepEqual(signIn.trade(replaced), { kind: 'refused', why: 'late' });
  pass(codeMs);
  assert.equal(signIn.trade(inTime).kind, 'token');
});

test('a newer page has the token, and the one before is told that it moved', () => {
  const { signIn, enter } = stage();
  const before = enter();
  const now = enter();
  assert.ok(signIn.matches(now) && !signIn.matches(before));
  assert.equal(signIn.withdrawn, 'moved');
});

test('a token lasts as long as it is used, and is gone when it was not for 15 min', () => {
  const { signIn, pass, enter } = stage();
  const token = enter();
  pass(idleMs);
  assert.ok(signIn.matches(token));
  pass(idleMs);
  assert.ok(signIn.matches(token), 'it was used in between');
  assert.ok(!signIn.matches('another'), 'the use of another does not keep it');
  pass(idleMs + 1);
  assert.ok(!signIn.matches(token));
  assert.equal(signIn.withdrawn, 'idle');
  assert.ok(signIn.ended.aborted);
});

test('a token that is granted needs no code', () => {
  const { signIn, told } = stage();
  assert.ok(signIn.ended.aborted, 'nobody is signed in at first');
  assert.ok(signIn.matches(signIn.grant()));
  assert.deepEqual(told, []);
});

test('a page that may be out of sight for days keeps its token', () => {
  const { signIn, pass, enter } = stage(Infinity);
  const token = enter();
  pass(365 * 24 * 3_600_000);
  assert.ok(signIn.matches(token));
});

test('what is withdrawn is the token, and the code that nobody has used yet', () => {
  const { signIn, enter } = stage();
  const token = enter();
  const code = signIn.offer();
  signIn.withdraw();
  assert.ok(!signIn.matches(token) && signIn.ended.aborted);
  assert.equal(signIn.withdrawn, 'code_used_twice');
  assert.deepEqual(signIn.trade(code), { kind: 'refused', why: 'late' });
  assert.ok(signIn.matches(signIn.grant()), 'the next one counts');
});
