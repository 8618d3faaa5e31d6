/** The running program with an agent that uses an MCP server. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writePins, type Pin } from '../../src/config/mcp-pins.ts';
import type { McpHealth } from '../../src/domain/tool-use.ts';
import { asks, inTurn, stage, toolsOf, wires } from '../agents/stage.ts';
import { isAlive } from '../fake/mcp/alive.ts';
import { definitionsOf, fakeServer } from '../fake/mcp/stage.ts';
import { scratch, serve } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const canary = 'canary-in-the-environment-of-a-server';

const agentOf = (mode: string, note = ''): object => ({
  tools: ['time', 'mcp.fake.echo'],
  mcp: [
    {
      name: 'fake',
      command: [process.execPath, fakeServer, mode, note],
      env: { TOKEN: 'MCP_CANARY' },
    },
  ],
});

async function pin(folder: string): Promise<void> {
  const own = (await definitionsOf('honest')).map(({ name, hash, parts }): [string, Pin] => {
    return [name, { hash, parts, effect: true, pinnedAt: '' }];
  });
  await writePins(join(folder, 'svc.mcp.json'), new Map([['fake', new Map(own)]]));
}

type Told = { mcp: McpHealth[]; warnings: { code: string; message: string; path: string }[] };

async function statusOf(adminPort: number): Promise<Told> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/api/v1/status`);
  return (await answer.json()) as Told;
}

test('from the pin to the reply: announced, called, journaled, told; no secret told', async () => {
  const script = inTurn(asks('mcp_fake_echo', { text: 'hello' }), { answer: 'It said hello.' });
  const env = { MCP_CANARY: canary };
  await using scene = await stage(wires[0]!, agentOf('tells_env'), script, { env, serve });
  await until('it is up', async () => (await statusOf(scene.adminPort)).mcp[0]?.state === 'up');
  const before = await statusOf(scene.adminPort);
  assert.deepEqual(
    before.warnings.map(({ code, path }) => `${code} ${path}`),
    ['mcp_unannounced brains[0].agent.mcp'],
  );
  await pin(scene.folder);
  await until('it is announced', async () => {
    return (await statusOf(scene.adminPort)).mcp[0]!.tools[0]!.state === 'announced';
  });
  assert.deepEqual((await statusOf(scene.adminPort)).warnings, []);
  assert.equal(await scene.say('Say hello.'), 'It said hello.');
  const [first, second] = scene.model.calls;
  assert.deepEqual(toolsOf(first!), ['time', 'mcp_fake_echo']);
  assert.match(second!.text, /result of mcp_fake_echo/);
  assert.match(second!.text, /\[secret\]/);
  const uses = await fetch(`http://127.0.0.1:${scene.adminPort}/api/v1/audit`).catch(() => null);
  const audited = uses === null ? '' : await uses.text();
  const everything = [
    scene.log(),
    await scene.metrics(),
    audited,
    JSON.stringify(await statusOf(scene.adminPort)),
    ...scene.model.calls.map(({ text }) => text),
    ...scene.receiver.received.map(({ text }) => text),
  ].join('\n');
  assert.doesNotMatch(everything, new RegExp(canary));
  assert.match(scene.log(), /mcp\.fake\.echo is not pinned.*svc mcp pin/);
});

test('/tools shows the tools of servers, with what state they are in', async () => {
  const script = inTurn({ answer: 'never' });
  const env = { MCP_CANARY: canary };
  await using scene = await stage(wires[0]!, agentOf('honest'), script, { env });
  await until('it is up', async () => (await statusOf(scene.adminPort)).mcp[0]?.state === 'up');
  assert.match(await scene.say('/tools'), /mcp\.fake\.echo.*MCP server fake, not pinned/s);
});

test('a svc that is killed leaves no server behind', async () => {
  await using folder = await scratch();
  const note = join(folder.path, 'note');
  const script = inTurn({ answer: 'never' });
  let child: ChildProcess | null = null;
  const started: typeof serve = async (...args) => {
    const program = await serve(...args);
    child = program.child;
    return program;
  };
  const more = { env: { MCP_CANARY: canary }, serve: started };
  await using _scene = await stage(wires[0]!, agentOf('honest', note), script, more);
  const pids = async (): Promise<number[]> => {
    const text = await readFile(note, 'utf8').catch(() => '');
    return Array.from(text.matchAll(/started (\d+)/g), ([, pid]) => Number(pid));
  };
  await until('it is started', async () => (await pids()).length > 0);
  (child as ChildProcess | null)!.kill('SIGKILL');
  await until('it is gone', async () => !(await pids()).some(isAlive));
});
