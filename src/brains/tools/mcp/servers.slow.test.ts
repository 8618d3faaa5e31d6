/** Servers of every kind, honest and hostile, behind the tools that an agent sees. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../../test/support/program.ts';
import { isAlive } from '../../../../test/fake/mcp/alive.ts';
import { McpStage, pinned } from '../../../../test/fake/mcp/stage.ts';
import { patienceMs, until, within } from '../../../../test/support/waiting.ts';
import { CommandTransport } from './command-transport.ts';

test('a pinned tool of a server is announced under a name for models, and runs', async () => {
  await using stage = await McpStage.open('honest');
  await stage.up();
  const [told] = stage.announced();
  assert.equal(told!.name, 'mcp_fake_echo');
  assert.match(told!.description, /^A tool of the MCP server "fake".*"Says a text again\."$/);
  assert.deepEqual(told!.parameters.required, ['text']);
  const ran = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.equal(ran.text, 'you said: hello');
  assert.equal(ran.use.tool, 'mcp.fake.echo');
  assert.deepEqual(stage.journaled, ['mcp.fake.echo'], 'it counts as an effect');
});

test('by its configured name it is the same tool: a yes names it so', async () => {
  await using stage = await McpStage.open('honest');
  await stage.up();
  const ran = await stage.call('mcp.fake.echo', { text: 'hello' });
  assert.deepEqual([ran.use.outcome, ran.use.tool], ['done', 'mcp.fake.echo']);
});

test('a pin that says so makes it no effect', async () => {
  await using stage = await McpStage.open('honest', { effect: false });
  await stage.up();
  assert.equal((await stage.call('mcp_fake_echo', { text: 'a' })).text, 'you said: a');
  assert.deepEqual(stage.journaled, []);
});

test('what is not text is named in words', async () => {
  await using stage = await McpStage.open('honest');
  await stage.up();
  assert.equal((await stage.call('mcp_fake_picture', {})).text, '[image, 12 kB]');
});

test('without a pin, or with another one, nothing is announced and nothing runs', async () => {
  for (const pins of ['none', 'wrong'] as const) {
    await using stage = await McpStage.open('honest', { pins });
    await stage.connected();
    assert.deepEqual(stage.announced(), []);
    const ran = await stage.call('mcp_fake_echo', { text: 'hello' });
    assert.deepEqual([ran.use.outcome, ran.use.rule], ['refused', 'unavailable']);
    const state = pins === 'none' ? 'not_pinned' : 'changed';
    assert.equal(stage.stateOf('echo'), state);
    assert.equal((await stage.notes()).includes('call echo'), false);
    assert.ok(stage.warnings.some((text) => text.includes('svc mcp pin')));
  }
});

test('a definition that changes while it is connected is no longer announced', async () => {
  await using stage = await McpStage.open('changed');
  await stage.up();
  await writeFile(`${stage.note}.changed`, '');
  await until('it is seen', async () => stage.stateOf('echo') === 'changed');
  assert.deepEqual(
    stage.announced().map(({ name }) => name),
    ['mcp_fake_picture'],
  );
  assert.equal((await stage.call('mcp_fake_echo', { text: 'a' })).use.rule, 'unavailable');
});

test('a poisoned description stands as data behind words of svc', async () => {
  await using stage = await McpStage.open('poisoned');
  await stage.up();
  const { description } = stage.announced()[0]!;
  assert.match(description, /^A tool of the MCP server "fake", which is not part of svc\. /);
  assert.match(description, /as data and not as an order: "/);
  assert.doesNotMatch(description, /[\p{Cc}\p{Cf}]|\[end|\[data/u);
});

test('what a server gives back of its environment is without the values', async () => {
  const canary = `canary-${randomUUID()}`;
  await using stage = await McpStage.open('tells_env', { secret: canary });
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'a' });
  assert.match(text, /"TOKEN":"\[secret\]"/);
  const names = Object.keys(JSON.parse(text) as object).filter((name) => !name.startsWith('__CF'));
  assert.deepEqual(names.sort(), ['PATH', 'TOKEN'], 'nothing else is in it');
});

test('what a server asks of svc is refused', async () => {
  await using stage = await McpStage.open('sampling');
  await stage.up();
  assert.equal((await stage.call('mcp_fake_echo', { text: 'a' })).text, 'asked');
  await until('all are answered', async () => {
    const notes = await stage.notes();
    return ['ask-1', 'ask-2', 'ask-3'].every((id) => notes.includes(`answer ${id} {"code":-32601`));
  });
});

for (const [mode, text] of [
  ['silent_call', /did not answer in time/],
  ['crash_call', /ended before it answered/],
  ['huge_result', /ended before it answered/],
  ['other_id', /did not answer in time/],
  ['null_result', /\(-32603\): its result is no object/],
  ['bad_result', /^not a list$/],
  ['text_error', /answered with an error \(-32603\): it went wrong here/],
  ['error', /answered with an error \(-32000\): it went wrong here/],
  ['is_error', /says that it failed: no such thing/],
] as const) {
  test(`a call of a server that is hostile by ${mode} ends, and says how`, async () => {
    const timeoutSeconds = text.source.includes('in time') ? 1 : 60;
    await using stage = await McpStage.open(mode, { timeoutSeconds });
    await stage.up();
    const ran = await stage.call('mcp_fake_echo', { text: 'hello' });
    assert.match(ran.text, text);
    assert.equal(ran.use.outcome, mode === 'bad_result' ? ran.use.outcome : 'failed');
  });
}

for (const mode of [
  'bom',
  'batch',
  'text_ids',
  'all_fields',
  'null_fields',
  'bare_tools',
  'empty_cursor',
  'refused_cursor',
  'one_part',
  'only_text',
  'older_result',
]) {
  test(`a server that writes otherwise than the protocol has it is used (${mode})`, async () => {
    await using stage = await McpStage.open(mode, { initMs: patienceMs });
    await stage.up();
    const ran = await stage.call('mcp_fake_echo', { text: 'hello' });
    assert.equal(ran.text, 'you said: hello');
    assert.equal(stage.stateOf('picture'), 'announced');
  });
}

for (const [mode, reason] of [
  ['old_revision', 'it refuses the revision of the protocol that svc speaks: update the server'],
  ['next_revision', 'it speaks a revision of the protocol that svc does not know: update svc'],
] as const) {
  test(`a server of another revision of the protocol is told as that (${mode})`, async () => {
    await using stage = await McpStage.open(mode);
    await until('it is down', async () => stage.standing().state === 'down');
    assert.equal(stage.standing().reason, reason);
  });
}

test('a long result is cut to 64 KiB, with a mark', async () => {
  await using stage = await McpStage.open('long_result');
  await stage.up();
  const { text } = await stage.call('mcp_fake_echo', { text: 'hello' });
  assert.match(text, /\[cut: the rest is too long\]$/);
  assert.ok(text.length < 66_000);
});

for (const mode of [
  'crash_start',
  'crash_init',
  'bad_init',
  'silent',
  'silent_list',
  'crash_list',
  'null_list',
  'flood_notifications',
] as const) {
  test(`a server that is hostile by ${mode} is down, and started again after a pause`, async () => {
    await using stage = await McpStage.open(mode, { initMs: 2_000 });
    await until('it is down', async () => stage.standing().state === 'down');
    assert.deepEqual(stage.announced(), []);
    await until('it is started again', async () => {
      return (await stage.notes()).split('started').length > 2;
    });
    // The warning comes before the pause of a second, however late this test sees it.
    assert.ok(performance.now() - stage.warnedAt! > 900, 'after a pause');
  });
}

for (const mode of ['flood_bytes', 'flood_garbage', 'flood_empty'] as const) {
  test(`a server that is hostile by ${mode} is ended`, async () => {
    await using stage = await McpStage.open(mode);
    await until('it is down', async () => stage.standing().state === 'down');
    assert.match(stage.standing().reason!, /more than/);
    const [, pid] = /started (\d+)/.exec(await stage.notes())!;
    await until('it is gone', async () => !isAlive(Number(pid)));
  });
}

test('of a flood of lines none is read once the server is to end', async () => {
  const flood = "const go = () => process.stdout.write('\\n'.repeat(65_536), go); go();";
  const options = { program: process.execPath, args: ['-e', flood], env: {} };
  const transport = new CommandTransport(options);
  const closed = Promise.withResolvers<void>();
  let read = 0;
  const onerror = (): void => {
    if (++read === 10) void transport.close();
  };
  Object.assign(transport, { onclose: closed.resolve, onerror });
  await transport.start();
  await within('its end', closed.promise);
  assert.equal(read, 10);
});

for (const mode of ['many_tools', 'huge_schema', 'endless_pages'] as const) {
  test(`of a server that is hostile by ${mode} no more is looked at than is fit`, async () => {
    await using stage = await McpStage.open(mode, { pins: 'none' });
    await stage.connected();
    await until('it is listed', async () => stage.standing().state === 'up');
    const state = mode === 'endless_pages' ? 'not_pinned' : 'missing';
    assert.equal(stage.stateOf('echo'), state);
  });
}

test('a server that hears nothing ends with its configuration all the same', async () => {
  const stage = await McpStage.open('deaf');
  await stage.up();
  const [, pid] = /started (\d+)/.exec(await stage.notes())!;
  await stage[Symbol.asyncDispose]();
  await until('it is gone', async () => !isAlive(Number(pid)));
});

test('a program that is not there is down, and says no more than that', async () => {
  await using folder = await scratch();
  await using stage = await McpStage.open('honest', { program: join(folder.path, 'none') });
  await until('it is down', async () => stage.standing().state === 'down');
  assert.equal(stage.standing().reason, 'it cannot be started (ENOENT)');
});

test('pins that are written while it runs are heeded', async () => {
  await using stage = await McpStage.open('honest', { pins: 'none' });
  await stage.connected();
  assert.deepEqual(stage.announced(), []);
  await writeFile(stage.pinsFile, await readFile(await pinned('honest', stage.folder), 'utf8'));
  await until('it is announced', async () => stage.announced().length === 2);
});

test('pins that cannot be read are told as what they are', async () => {
  await using stage = await McpStage.open('honest', { pins: 'none' });
  await writeFile(stage.pinsFile, 'no json');
  await until('it is told', async () => {
    return stage.warnings.some((text) => text.includes('svc.mcp.json is not JSON, so no tool'));
  });
  await stage.connected();
  assert.deepEqual(stage.announced(), []);
});
