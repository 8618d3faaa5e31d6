/**
 * Makes the pictures of the application in docs/images/ again. It runs `svc desktop` on its own
 * desktop and photographs each page in its window.
 */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { notHere } from '../test/desktop/account.ts';
import { openServing, signedIn } from '../test/desktop/serving.ts';
import { openDesktop, titled } from '../test/desktop/stage.ts';
import { openWorld } from '../test/desktop/world.ts';
import { startFakeOllama } from '../test/fake/ollama.ts';

const images = join(import.meta.dirname, '..', 'docs', 'images');

if (notHere !== false) throw new Error(notHere);
await firstRun();
await secretMissing();
await closing();

async function firstRun(): Promise<void> {
  const models = ['llama3.2:latest', 'qwen3:8b'];
  await using runtime = await startFakeOllama({ answer: 'Hello.' }, { models });
  await using desktop = await openDesktop({ env: { OLLAMA_HOST: runtime.url } });
  desktop.start();
  const page = await desktop.page();
  await page.getByRole('heading', { level: 2, name: 'The model that answers' }).waitFor();
  await page.getByRole('button', { name: /llama3\.2/ }).waitFor();
  await take(page, 'desktop-first-run');
}

async function secretMissing(): Promise<void> {
  await using world = await openWorld();
  const config = JSON.stringify(world.document, null, 2);
  await using desktop = await openDesktop({ keyring: 'unlocked', config });
  desktop.start();
  const page = await desktop.page();
  await titled(page, 'A secret is missing');
  await take(page, 'desktop-secret-missing');
}

async function closing(): Promise<void> {
  await using serving = await openServing();
  const { desktop, world } = serving;
  desktop.start();
  const page = await desktop.page();
  await signedIn(page, world);
  await page.getByRole('link', { name: 'This application' }).press('Enter');
  await titled(page, 'svc is running');
  // The page that a closed window leads to.
  await page.goto(new URL('close', page.url()).href);
  await take(page, 'desktop-closing');
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(images, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}
