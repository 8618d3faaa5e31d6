/** The builder of a running program, and a person who signs in to it. */
import { readFile } from 'node:fs/promises';
import { freePort, scratch, serve, webhookConfig, writeConfig } from '../program.ts';
import type { Site, View } from './browser.ts';

export const adminToken = 'the-token-of-the-administrator';

export type BuilderSite = Site & {
  /** The file of the configuration, as it is now. */
  readonly text: () => Promise<string>;
};

type Document = Record<string, unknown>;

/** @param change makes the configuration that the program starts with */
export async function startBuilder(
  change: (config: Document) => Document = (config) => config,
): Promise<BuilderSite> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = change({
    ...webhookConfig({
      port,
      adminPort,
      modelUrl: 'http://127.0.0.1:9',
      receiverUrl: 'http://127.0.0.1:9/replies',
    }),
    admin: { token_env: 'ADMIN_TOKEN' },
  });
  const file = await writeConfig(folder.path, config);
  stack.use(await serve(file, port, { ADMIN_TOKEN: adminToken }));
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    text: () => readFile(file, 'utf8'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The view is told that this text is in use: one that no program could start with here. */
export async function answerConfig(view: View, text: string, revision = 'r-1'): Promise<void> {
  const json = { revision, text, file: '/etc/svc/svc.json', usedAt: Date.now() };
  const { page } = view;
  await page.route('**/api/v1/config', (route) => route.fulfill({ json }));
}

/**
 * Opens the builder and signs in; the configuration in use is shown then.
 * @param atTheDoor called before the token is given
 */
export async function signIn(view: View, atTheDoor = async (): Promise<void> => {}): Promise<void> {
  const { page } = view;
  // The sign-in page is the body of a refusal, and Chromium says so on the console.
  view.expectFault(/status of 401/);
  await page.goto('/builder');
  await page.getByLabel('Administrator token').waitFor();
  await atTheDoor();
  await giveToken(view);
}

/** Signs in on the page that asks for it. */
export async function giveToken({ page }: View): Promise<void> {
  await page.getByLabel('Administrator token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('tree', { name: 'Configuration' }).waitFor();
}
