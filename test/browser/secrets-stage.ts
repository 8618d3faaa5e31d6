/** The pages of an admin server with a keychain in memory, and an operator. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { EnvName } from '../../src/config/secret-value.ts';
import type { SecretSource } from '../../src/config/found-secret.ts';
import type { SteadyTime } from '../../src/lib/clock.ts';
import { createSecretControl } from '../../src/app/config/secrets.ts';
import { adminToken, makeWorld, openAdmin, withToken, type World } from '../fake/admin-world.ts';
import { explained, fakeKeychain, fakeLookup, type FakeKeychain } from '../fake/keychain.ts';
import type { Site, View } from './browser.ts';

export type SecretsStage = Site & { readonly world: World; readonly keychain: FakeKeychain };

/** It names WEBHOOK_SECRET and ADMIN_TOKEN. */
const text = readFileSync(join(import.meta.dirname, '../../examples/builder.json'), 'utf8');

/** The sources of the present secrets. */
const held: Readonly<Record<string, SecretSource>> = {
  WEBHOOK_SECRET_NAME: 'keychain',
  BOT: 'environment',
  ADMIN_TOKEN: 'environment',
};

export async function startSecretsStage(): Promise<SecretsStage> {
  const world = makeWorld('debug');
  const keychain = fakeKeychain();
  const config = {
    ...world.ports.runningConfig().config,
    admin: { tokenEnv: 'ADMIN_TOKEN' as EnvName },
  };
  keychain.values.set('WEBHOOK_SECRET_NAME', { value: 'the one before', setAt: 500 });
  let steadyMs = 0;
  const secrets = createSecretControl({
    config: () => config,
    lookup: fakeLookup(held, 1_000, { WEBHOOK_SECRET: 'environment' }),
    keychain,
    prober: keychain,
    store: 'secret_service',
    explain: explained,
    // Each call is later than any cache lasts.
    steady: () => (steadyMs += 10_000) as SteadyTime,
    events: world.events,
  });
  const inUse = { ...world.ports.control.inUse(), text };
  const control = { ...world.ports.control, inUse: () => inUse };
  const audit = async () => ({ rows: [...(world.audited ?? [])].reverse(), next: null });
  const reader = { ...world.ports.reader, audit };
  const ports = { ...world.ports, secrets, control, reader };
  const admin = await openAdmin({ ...world, ports }, { access: withToken });
  return {
    origin: `http://127.0.0.1:${admin.port}`,
    world,
    keychain,
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Administrator token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in' }).last().click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Everything that the page shows, has in inputs or its address, or keeps in the browser. */
export async function heldBy({ page, context }: View): Promise<string> {
  const told = await page.evaluate<string>(`JSON.stringify([
    document.documentElement.outerHTML,
    Array.from(document.querySelectorAll('input, textarea'), (one) => one.value),
    Object.entries(localStorage),
    Object.entries(sessionStorage),
    location.href,
    history.state,
    document.cookie,
  ])`);
  return told + JSON.stringify(await context.storageState({ indexedDB: true }));
}
