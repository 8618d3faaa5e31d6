/** The whole prompt as models see it; `UPDATE_GOLDEN=1` rewrites the files. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemPrompt, type PromptParts } from './prompt.ts';

const folder = join(import.meta.dirname, '../../../test/golden/prompts');

const whole: PromptParts = {
  protocol: 'native',
  tools: [
    {
      name: 'calc',
      description: 'Calculates.',
      parameters: {
        type: 'object',
        properties: { expression: { type: 'string', description: 'Such as 2*(3+4).' } },
        required: ['expression'],
      },
    },
    { name: 'time', description: 'Tells the time.', parameters: { type: 'object' } },
  ],
  hadTools: true,
  stepsMax: 5,
  brainPrompt: null,
  operatorPrompt: 'You help the people of a small library.',
  skills: 'Skills:\n- opening-hours: When the library is open.',
  keepsNotes: true,
  notes: [
    { at: 1, text: 'Ada likes tea.', sensitivity: 'public' },
    { at: 2, text: 'Ada speaks French.', sensitivity: 'public' },
  ],
  clientPrompt: null,
  mark: '5f3a0c91-77de',
};

const prompts: Readonly<Record<string, Partial<PromptParts>>> = {
  native: {},
  text: { protocol: 'text' },
  'native-last': { tools: [] },
  'text-last': { protocol: 'text', tools: [] },
  'one-step': { stepsMax: 1, notes: [], skills: null, operatorPrompt: null },
  'no-tools': { tools: [], hadTools: false, keepsNotes: false, notes: [], skills: null },
  character: { brainPrompt: 'You are Captain Kit, an old sailor.' },
  'no-tools-but-notes': { tools: [], hadTools: false, skills: null, operatorPrompt: null },
};

for (const [name, parts] of Object.entries(prompts)) {
  test(`the prompt ${name} is what it was`, () => {
    const prompt = systemPrompt({ ...whole, ...parts });
    const file = join(folder, `${name}.txt`);
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, `${prompt}\n`);
    assert.ok(existsSync(file), `${file} is missing: UPDATE_GOLDEN=1 writes it`);
    assert.equal(`${prompt}\n`, readFileSync(file, 'utf8'));
  });
}

test('the order is brain, protocol, agent, skills, notes, in either protocol', () => {
  for (const protocol of ['native', 'text'] as const) {
    const brainPrompt = 'You are Kit.';
    const prompt = systemPrompt({ ...whole, protocol, brainPrompt });
    const parts = [
      'You are Kit',
      'You answer a person',
      'small library',
      'opening-hours',
      'Ada likes tea',
    ];
    const places = parts.map((part) => prompt.indexOf(part));
    assert.ok(!places.includes(-1));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  }
});

test('the protocol block that the documents quote is the one that models read', () => {
  const document = readFileSync(join(folder, '../../../docs/how-it-works/agents.md'), 'utf8');
  const block = systemPrompt({ ...whole, protocol: 'text' }).split('\n- calc:')[0]!;
  assert.ok(document.includes(`\`\`\`text\n${block}\n\`\`\``));
});
