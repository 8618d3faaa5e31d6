/** The test of a page fails when the page is wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf } from './blocks.ts';
import { assertShown, cannotRun, runBlocks } from './run-page.ts';

const skip = cannotRun();

/** Shell blocks with these texts. */
const blocksIn = (...texts: readonly string[]) =>
  blocksOf(texts.map((text) => `\`\`\`sh\n${text}\n\`\`\`\n`).join('\n'));

const made = 'svc init --yes --channel webhook --provider ollama --model llama3.2';

test('a variable of one block is there in the next, and svc is a program', { skip }, async () => {
  await runBlocks('a.md', blocksIn('word=hello', '[ "$word" = hello ]\nsvc version'));
});

test('who has installed svc finds no checkout in the folder', { skip }, async () => {
  await runBlocks('a.md', blocksIn('[ -z "$(ls)" ]'));
  await assert.rejects(runBlocks('a.md', blocksIn('./svc version')), /\.\/svc/);
  await assert.rejects(runBlocks('a.md', blocksIn('cp examples/echo.json svc.json')), /echo\.json/);
  const [lying] = blocksIn('./svc version\ncp examples/echo.json svc.json');
  await runBlocks('README.md', [lying!]);
});

test('a line that fails is told with its block', { skip }, async () => {
  const running = runBlocks('a.md', blocksIn('true', 'svc serve --nonsense', 'true'));
  await assert.rejects(running, /a\.md:5\n[^]*nonsense/);
});

test('another terminal knows nothing that was exported in the first', { skip }, async () => {
  const said = 'export word=hello\n[ "$word" = hello ]';
  const known = '[ "${word-}" = hello ]';
  const pageOf = (mark: string) => `\`\`\`sh\n${said}\n\`\`\`\n\`\`\`sh${mark}\n${known}\n\`\`\`\n`;
  await runBlocks('a.md', blocksOf(pageOf('')));
  await assert.rejects(runBlocks('a.md', blocksOf(pageOf(' fresh'))), /a\.md:5/);
});

test('a request that svc refuses is told', { skip }, async () => {
  const asking = 'curl -s http://127.0.0.1:8090/webhook -d "{}"';
  const blocks = blocksIn(made, `export WEBHOOK_SECRET=a-secret-of-the-test\nsvc serve`, asking);
  await assert.rejects(runBlocks('a.md', blocks), /unauthorized/);
});

test('nothing but loopback is reached', { skip }, async () => {
  await assert.rejects(runBlocks('a.md', blocksIn('curl -s http://192.0.2.1/')));
});

test('what a page shows has to come, line by line', () => {
  assertShown('one\ntwo 2\nthree\n', 'one\ntwo …\n', 'a.md');
  assertShown(
    'id  01m8caz1b96pmdhd6yq5cg  in 12 ms',
    'id 01m7znv77m6tvp5nvq6zxx in 1.2 s\n',
    'a.md',
  );
  assert.throws(() => assertShown('two\none\n', 'one\ntwo\n', 'a.md'), /shows “two”/);
  assert.throws(() => assertShown('1 is well', '1 is wrong', 'a.md'), /shows “1 is wrong”/);
});
