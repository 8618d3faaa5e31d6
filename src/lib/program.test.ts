import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandName } from './program.ts';

test('the program is called as the person called it, in a way that a shell takes', () => {
  const called = (name: string) => commandName({ SVC_COMMAND: name });
  assert.equal(commandName({}), 'svc');
  assert.equal(called('./svc'), './svc');
  assert.equal(called('/home/ada/my router/svc'), "'/home/ada/my router/svc'");
  assert.equal(called(String.raw`C:\svc\svc.cmd`), String.raw`C:\svc\svc.cmd`);
  assert.equal(called('-svc'), './-svc');
  assert.equal(called('svc\u001B[2J'), 'svc');
});
