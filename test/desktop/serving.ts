/** An application with a working configuration. */
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { openDesktop, type Desktop, type DesktopOptions } from './stage.ts';
import { openWorld, secret, type World } from './world.ts';

export type Serving = AsyncDisposable & { readonly world: World; readonly desktop: Desktop };

/** Does not start it. @param more further fields of its configuration */
export async function openServing(more: object = {}, options: DesktopOptions = {}) {
  await using parts = new AsyncDisposableStack();
  const world = parts.use(await openWorld());
  const config = JSON.stringify({ ...world.document, ...more }, null, 2);
  const env = { WEBHOOK_SECRET: secret, ...options.env };
  const desktop = parts.use(await openDesktop({ ...options, env, config }));
  const own = parts.move();
  return { world, desktop, [Symbol.asyncDispose]: () => own.disposeAsync() } satisfies Serving;
}

/** Waits for the links that only signed-in people see. */
export async function signedIn(page: Page, { origin }: World): Promise<void> {
  await page.waitForURL(`${origin}/ui`);
  await page.getByRole('link', { name: 'Builder' }).waitFor();
  await page.getByRole('link', { name: 'This application' }).waitFor();
}

/**
 * Shares one instance among all tests of a suite, in their order. The first caller opens it, and it
 * closes after the last test.
 */
export function sharedBy<T extends AsyncDisposable>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null;
  after(async () => {
    const shared = await opened;
    await shared?.[Symbol.asyncDispose]();
  });
  return () => (opened ??= open());
}

export const sharedServing = (more: object = {}): (() => Promise<Serving>) =>
  sharedBy(() => openServing(more));
