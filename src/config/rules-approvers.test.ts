import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, change } from '../../test/config/cases.ts';
import { validateText } from './validate.ts';

const asks = change(agent, '"shadow", "channels": ["telegram"]', '"ask", "channels": null');
const withApprovers = (list: string): string =>
  change(asks, '"memory": { "scope": "brain" }', `"memory": { "scope": "brain" }, ${list}`);

test('a grant that asks needs no approver: the operator may always', () => {
  const { kind, problems } = validateText(asks);
  assert.equal(kind, 'valid');
  assert.deepEqual(problems, []);
});

test('approvers have the contract’s names, each once; a call waits a day', () => {
  const text = withApprovers('"approvers": ["telegram:123", "messenger_a:123"]');
  const validation = validateText(text);
  assert.ok(validation.kind === 'valid');
  const { approvers, approvalMs } = validation.config.brains[0]!.agent!;
  assert.deepEqual(approvers, [{ channel: 'messenger_a', user: '123', name: 'messenger_a:123' }]);
  assert.equal(approvalMs, 24 * 3_600_000);
});

test('people of a named messenger may decide, and nobody on what is no messenger', () => {
  const text = withApprovers('"approvers": ["support:123", "intake:123", "webhook:123"]');
  const hook = '"webhook": { "bind": "127.0.0.1:9000", "outbound_url": "http://127.0.0.1:8000" }';
  const named = change(
    change(
      change(text, '{ "type": "messenger_a",', '{ "type": "messenger_a", "name": "support",'),
      '"channels": [\n',
      `"channels": [{ "type": "webhook", "name": "intake", "token_env": "HOOK", ${hook} },\n`,
    ),
    '{ "channel": "messenger_a", "brain": "main" }',
    '{ "channel": "support", "brain": "main" }, { "channel": "intake", "brain": "main" }',
  );
  const validation = validateText(named);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  const { approvers } = validation.config.brains[0]!.agent!;
  assert.deepEqual(
    approvers.map(({ name }) => name),
    ['support:123'],
  );
});

test('an approver is told of by the word that was written', () => {
  const text = withApprovers('"approvers": ["discord:123"]');
  const messages = validateText(text).problems.map(({ message }) => message);
  assert.ok(
    messages.includes('discord is not configured, so nobody is asked there'),
    messages.join(),
  );
});

test('who may be let in by a code is not warned of', () => {
  const paired = change(asks, '"groups": "off"', '"groups": "off", "pairing": true');
  const more = '"memory": { "scope": "brain" }, "approvers": ["telegram:999"]';
  const { problems } = validateText(change(paired, '"memory": { "scope": "brain" }', more));
  assert.deepEqual(problems, []);
});

test('a tool that asks first leaks nothing by itself', () => {
  const grants = (mode: string): string =>
    '"governance": [{ "tool": "read_file", "mode": "allow" }, ' +
    `{ "tool": "webhook_call", "mode": "${mode}" }]`;
  const governed = (mode: string): readonly string[] => {
    const open = change(agent, '"allow": ["123"]', '"allow": null');
    const from =
      '"governance": [{ "tool": "http_fetch", "mode": "shadow", "channels": ["telegram"] }]';
    return validateText(change(open, from, grants(mode))).problems.map(({ code }) => code);
  };
  assert.ok(governed('allow').includes('agent_can_leak'));
  assert.ok(!governed('ask').includes('agent_can_leak'));
});
