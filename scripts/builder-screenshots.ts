/**
 * Takes the pictures of the builder in docs/images, in Chromium, from a program that it runs. Run
 * `npm run pages` first.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import type { TryResult } from '../src/admin/config-trials.ts';
import { answerConfig, contextWith, enter } from '../test/browser/builder-desk.ts';

const folder = join(import.meta.dirname, '../docs/images');
const executablePath = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';

const local = { provider: 'local_runtime', model_id: 'llama3.2', locality: 'local' };
const cloud = {
  provider: 'hosted_runtime',
  model_id: 'gpt-6-luna',
  locality: 'cloud',
  api_key_env: 'OPENAI_API_KEY',
};
const config = {
  _about: 'The front desk: questions of guests, and a librarian who reads the house rules.',
  channels: [
    {
      type: 'webhook',
      token_env: 'WEBHOOK_SECRET',
      webhook: { outbound_url: 'http://127.0.0.1:9000/replies' },
    },
    { type: 'messenger_a', mode: 'polling', token_env: 'TELEGRAM_TOKEN', access: { allow: [] } },
  ],
  brains: [
    {
      name: 'triage',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [local, cloud],
    },
    {
      name: 'librarian',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [local],
      agent: {
        tools: ['time', 'read_file', 'memory_note'],
        governance: [
          { tool: 'time', mode: 'allow' },
          { tool: 'read_file', mode: 'allow', channels: ['webhook'] },
          { tool: 'memory_note', mode: 'shadow' },
        ],
        read_file: { root: 'library' },
        memory: {},
      },
    },
  ],
  routes: [
    { channel: 'webhook', brain: 'triage' },
    { channel: 'messenger_a', brain: 'librarian' },
  ],
  storage: {},
  admin: { token_env: 'ADMIN_TOKEN' },
};

const reply = 'On Sundays we open at nine, and breakfast is until eleven.';
const tried: TryResult = {
  decision: { kind: 'reply', text: reply, model: 'local_runtime/llama3.2' },
  ms: 1_240,
  why: 'the best answer by rank',
  trace: {
    acceptedAt: 0,
    claimedAt: 0,
    decidedAt: 1_240,
    brain: 'triage',
    attempt: 1,
    outcome: 'reply',
    steps: [],
  },
  answers: [
    {
      model: 'local_runtime/llama3.2',
      kind: 'answer',
      text: reply,
      ms: 1_236,
      failure: null,
      reason: null,
    },
    {
      model: 'hosted_runtime/gpt-6-luna',
      kind: 'dropped',
      text: null,
      ms: null,
      failure: null,
      reason: 'the brain is private, and this model is declared cloud',
    },
  ],
  tools: [],
};

type Picture = {
  readonly name: string;
  readonly dark: boolean;
  /** Brings the page to the state of the picture. */
  readonly show: (page: Page) => Promise<void>;
};

const branch = (page: Page, name: RegExp) => page.getByRole('treeitem', { name }).first();

const pictures: readonly Picture[] = [
  {
    name: 'builder-form',
    dark: false,
    async show(page) {
      await branch(page, /^triage/).click();
      await page.getByText('never asked').first().waitFor();
    },
  },
  {
    name: 'builder-agent',
    dark: false,
    async show(page) {
      await branch(page, /^Agent/).click();
      await page.getByText('What this comes to').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'builder-json',
    dark: true,
    async show(page) {
      await branch(page, /^Agent/).click();
      await page.getByLabel('Root (required)').fill('');
      await page.getByRole('tab', { name: 'JSON' }).click();
      await page.getByRole('button', { name: /Agent: read_file\.root$/ }).click();
      await page.locator('.cm-lintRange-error').first().waitFor();
    },
  },
  {
    name: 'builder-graph',
    dark: false,
    async show(page) {
      await page.getByRole('tab', { name: 'Graph' }).click();
      await page.locator('.react-flow__node').filter({ hasText: 'triage' }).click();
      await page.getByRole('heading', { name: 'brain triage' }).waitFor();
    },
  },
  {
    name: 'builder-review',
    dark: false,
    async show(page) {
      await page.getByRole('tab', { name: 'Graph' }).click();
      await page.locator('.react-flow__node').filter({ hasText: 'Telegram' }).click();
      await page.getByLabel('Connect to the brain').selectOption('triage');
      await page.getByRole('tab', { name: 'Review' }).click();
      await page.getByText('The text, line by line').click();
      await page.getByRole('group', { name: 'Lines that differ' }).waitFor();
    },
  },
  {
    name: 'builder-try',
    dark: true,
    async show(page) {
      const body = `data: ${JSON.stringify({ kind: 'result', result: tried })}\n\n`;
      const events = { contentType: 'text/event-stream', body };
      await page.route('**/api/v1/config/try', (route) => route.fulfill(events));
      await page.getByRole('tab', { name: 'Try' }).click();
      await page.getByLabel('What a sender says').fill('When do you open on Sundays?');
      await page.getByRole('button', { name: 'Ask the draft' }).click();
      await page.getByText('Never asked', { exact: true }).scrollIntoViewIfNeeded();
    },
  },
];

mkdirSync(folder, { recursive: true });
await using site = await contextWith()();
mkdirSync(join(site.service.folder, 'library'));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
for (const { name, dark, show } of pictures) {
  const page = await browser.newPage({
    baseURL: site.origin,
    viewport: { width: 1280, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  const text = `${JSON.stringify(config, null, 2)}\n`;
  await answerConfig(page, text);
  await page.goto('/builder?view=form');
  await enter(page);
  await show(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}
await browser.close();
