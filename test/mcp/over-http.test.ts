/** The running program with an agent that uses an MCP server at a URL. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { writePins, type Pin } from '../../src/config/mcp-pins.ts';
import type { McpHealth } from '../../src/domain/tool-use.ts';
import { definitionOf } from '../../src/brains/tools/mcp/definition.ts';
import { asks, bodyOf, inTurn, stage, toolsOf, wires, type Scene } from '../agents/stage.ts';
import { echo, oddTools, startHttpMcp } from '../fake/mcp/http-server.ts';
import type { Script } from '../fake/model-server.ts';
import { until } from '../support/waiting.ts';

const agentAt = (url: string, tools: readonly string[]): object => ({
  tools: ['time', ...tools.map((tool) => `mcp.far.${tool}`)],
  mcp: [{ name: 'far', url }],
});

/** Pins the tools of the fake, and waits until svc announces them. */
async function pinned({ folder, adminPort }: Scene): Promise<void> {
  const own = [echo, ...oddTools].map((tool): [string, Pin] => {
    const { name, hash, parts } = definitionOf(tool)!;
    return [name, { hash, parts, effect: true, pinnedAt: '' }];
  });
  await writePins(join(folder, 'svc.mcp.json'), new Map([['far', new Map(own)]]));
  await until('all are announced', async () => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/api/v1/status`);
    const { mcp } = (await answer.json()) as { mcp: McpHealth[] };
    return mcp[0]!.tools.every(({ state }) => state === 'announced');
  });
}

const refusedKeys = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

type Announced = { function: { name: string; parameters: Record<string, unknown> } };

/** Refuses as OpenAI does; llama.cpp, Anthropic and Groq use other words (langchainjs#9804). */
function strict(script: Script): Script {
  const answer = typeof script === 'function' ? script : () => script;
  return (call, before) => {
    const { tools = [] } = bodyOf(call) as unknown as { tools?: Announced[] };
    const odd = tools.find(({ function: { parameters } }) => {
      return parameters['type'] !== 'object' || refusedKeys.some((key) => key in parameters);
    });
    if (odd === undefined) return answer(call, before);
    const message =
      `Invalid schema for function '${odd.function.name}': schema must have type 'object' and ` +
      "not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
    return { status: 400, body: JSON.stringify({ error: { message, code: 'invalid_schema' } }) };
  };
}

test('a tool whose schema providers refuse takes the brain not down, and is used', async () => {
  await using server = await startHttpMcp('odd_tools');
  const turn = inTurn(asks('mcp_far_odd', { text: 'hello' }), { answer: 'Said.' });
  const agent = agentAt(server.url, ['odd', 'echo']);
  await using scene = await stage(wires[1]!, agent, strict(turn));
  await pinned(scene);
  assert.equal(await scene.say('Say hello.'), 'Said.');
  const [first, second] = scene.model.calls;
  assert.deepEqual(toolsOf(first!), ['time', 'mcp_far_odd', 'mcp_far_echo']);
  assert.match(first!.text, /Give either text, or id\./);
  assert.match(second!.text, /you said: hello/);
});

test('a restart of a server between two messages is nothing that a person hears of', async () => {
  await using server = await startHttpMcp('sessions');
  const call = asks('mcp_far_echo', { text: 'hello' });
  const script = inTurn(call, { answer: 'One.' }, call, { answer: 'Two.' });
  await using scene = await stage(wires[1]!, agentAt(server.url, ['echo']), script);
  await pinned(scene);
  assert.equal(await scene.say('Say hello.'), 'One.');
  server.forget();
  assert.equal(await scene.say('Again.'), 'Two.');
  assert.match(scene.model.calls.at(-1)!.text, /you said: hello/);
  assert.equal(server.ran(), 2);
});
