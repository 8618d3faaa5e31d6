import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noReserved } from '../../../test/fake/reserved.ts';
import { systemClock } from '../../lib/clock.ts';
import type { AgentConfig, ToolName } from '../../config/config.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createTools } from './registry.ts';

const deps = {
  ...systemClock,
  deadlines: createDeadlines(),
  resolve: () => Promise.reject(new Error('nothing is resolved here')),
  reserved: noReserved,
  version: '0',
  heldDatabase: null,
  mcp: { find: () => null },
  brain: 'default',
};

function agentWith(tools: readonly ToolName[], cages: Partial<AgentConfig> = {}): AgentConfig {
  return {
    tools,
    iterationsMax: 5,
    systemPrompt: null,
    approvers: [],
    approvalMs: 3_600_000,
    approvalText: 'full',
    governance: [],
    readFile: null,
    httpFetch: null,
    webhookCall: null,
    memory: null,
    mcp: [],
    skillsDir: null,
    skillsBodyBudgetRunes: 8_192,
    ...cages,
  };
}

const memory = {
  scope: 'conversation',
  notesMax: 10,
  noteRunesMax: 200,
  budgetRunes: 2_000,
} as const;

test('the tools stand in listed order, each under its own name', () => {
  const listed = ['memory_note', 'calc', 'time', 'echo'] as const;
  const tools = createTools(agentWith(listed, { memory }), deps);
  assert.deepEqual(
    tools.map(({ name }) => name),
    listed,
  );
});

test('a tool without its cage is not built', () => {
  for (const name of ['memory_note', 'read_file', 'http_fetch', 'webhook_call'] as const) {
    assert.throws(() => createTools(agentWith([name]), deps), new RegExp(name));
  }
});

test('every tool tells a model what it is, and describes each of its arguments', () => {
  const tools = createTools(agentWith(['memory_note', 'calc', 'time', 'echo'], { memory }), deps);
  for (const { description, parameters } of tools) {
    assert.ok(description.length > 20 && description.length < 1_000);
    for (const name of parameters.required) assert.ok(Object.hasOwn(parameters.properties, name));
    for (const property of Object.values(parameters.properties)) {
      assert.ok(property.description.length > 10);
    }
  }
});
