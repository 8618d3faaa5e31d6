/**
 * An agent that may reach this machine cannot reach svc itself, its database, or the servers in its
 * configuration, unless an entry of its list names that port.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, lastOf, stage, wires, type Scene } from '../agents/stage.ts';
import { startWeb } from '../fake/web.ts';

/** Its model makes the call of the message, and repeats the result. */
async function startAgent(
  hosts: readonly string[],
  sensitivity: string,
  more: object = {},
): Promise<Scene> {
  const agent = {
    ...more,
    tools: ['http_fetch', 'webhook_call'],
    http_fetch: { allow_hosts: hosts },
    webhook_call: { allow_hosts: hosts },
  };
  const script: Parameters<typeof stage>[2] = (call) => {
    const { role, content } = lastOf(call);
    if (role !== 'user') return { answer: content };
    const [tool, url] = content.split(' ') as [string, string];
    return asks(tool, { url, body: { name: 'llama3.2' } });
  };
  return stage(wires[0]!, agent, script, { brain: { sensitivity } });
}

const portOf = (url: string): number => Number(new URL(url).port);

for (const sensitivity of ['public', 'private'] as const) {
  test(`a ${sensitivity} agent reaches neither svc nor its model's server`, async () => {
    await using other = await startWeb({ '/': { body: 'another server' } });
    await using scene = await startAgent(['127.0.0.1', 'localhost'], sensitivity);
    assert.match(await scene.say(`http_fetch ${other.origin}/`), /another server/);
    const ports = [portOf(scene.url), scene.adminPort, portOf(scene.model.url)];
    for (const port of ports) {
      for (const host of ['127.0.0.1', '127.1', 'localhost']) {
        for (const tool of ['http_fetch', 'webhook_call']) {
          const told = await scene.say(`${tool} http://${host}:${port}/api/pull`);
          assert.match(told, /svc itself, its database, or a server/, `${tool} ${host}:${port}`);
        }
      }
    }
    assert.ok(scene.model.calls.every(({ path }) => path === '/api/chat'));
  });
}

test('an agent reaches an MCP server only where the list names its port', async () => {
  await using server = await startWeb({ '/': { body: 'of the MCP server' } });
  const port = portOf(server.origin);
  for (const entry of ['127.0.0.1', `127.0.0.1:${port}`]) {
    const mcp = [{ name: 'files', url: `${server.origin}/mcp` }];
    await using scene = await startAgent([entry, 'localhost'], 'private', { mcp });
    const told = await scene.say(`http_fetch http://127.0.0.1:${port}/`);
    if (entry.includes(':')) assert.match(told, /of the MCP server/);
    else assert.match(told, /svc itself, its database, or a server/);
    const posted = await scene.say(`webhook_call http://localhost:${port}/`);
    assert.match(posted, /svc itself, its database, or a server/);
  }
});
