import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeAsMarkdown, splitReply } from './splitting.ts';

const cutting = {
  unitsMax: 200,
  unitsOf: (text: string) => text.length,
  fences: true,
  codeCharactersMax: 50,
};
const line = 'let a = "0123456789";\n';
const long = line.repeat(4);

function told(text: string): readonly (readonly [string | undefined, string])[] {
  return splitReply(text, cutting).map(({ file, text: part }) => [file?.name, part]);
}

test('a long block is a file between what stands before and behind it', () => {
  assert.deepEqual(told(`Here:\n\n\`\`\`js\n${long}\`\`\`\n\nThat is all.`), [
    [undefined, 'Here:'],
    ['code.js', long],
    [undefined, 'That is all.'],
  ]);
});

test('a short block stays in its text', () => {
  const text = `Here:\n\`\`\`js\n${line}\`\`\`\nAll.`;
  assert.deepEqual(told(text), [[undefined, text]]);
});

test('several files are numbered, and have the endings of their languages', () => {
  const blocks = ['python', 'C++ title=x', 'whatever', ''].map(
    (info) => `~~~${info}\n${long}~~~\n`,
  );
  assert.deepEqual(
    told(blocks.join('')).map(([name]) => name),
    ['code-1.py', 'code-2.cpp', 'code-3.txt', 'code-4.txt'],
  );
});

test('a block that is never closed goes to the end; one in a list loses its indent', () => {
  assert.deepEqual(told(`\`\`\`sh\n${long}`), [['code.sh', long]]);
  const inList = `- so:\n  \`\`\`ts\n${long.replaceAll(/^(?=l)/gm, '  ')}  \`\`\``;
  assert.deepEqual(told(inList), [
    [undefined, '- so:'],
    ['code.ts', long],
  ]);
});

test('code that is sent as text is fenced, whatever is in it, and fits', () => {
  assert.equal(codeAsMarkdown('a\n```\nb\n', 100), '````\na\n```\nb\n````');
  const cut = codeAsMarkdown('x'.repeat(500), 200);
  assert.ok(cut.length <= 200);
  assert.match(cut, /^```\nx+\n```\n\nThe whole could not be sent as a file/);
});
