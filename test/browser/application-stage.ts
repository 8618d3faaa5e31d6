/** An admin server with an application around it, and beside it that application's own page. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import type { SteadyTime } from '../../src/lib/clock.ts';
import type { ApplicationLink } from '../../src/admin/application.ts';
import { SignIn } from '../../src/admin/http/sign-in.ts';
import { makeWorld, openAdmin, type World } from '../fake/admin-world.ts';
import type { Site, View } from './browser.ts';

export type ApplicationStage = Site & {
  readonly world: World;
  readonly page: string;
  /** Returns the address of a page of svc, with a code for one use. */
  offer(path: string): string;
  /** Returns a token for a page that receives it from its own window. */
  grant(): string;
  /** How many times svc asked for a window. */
  readonly asked: () => number;
  /** The answer to the next request for a window. */
  shows: ReturnType<ApplicationLink['showWindow']>;
  /** Ends the service, while its application goes on. */
  end(): Promise<void>;
};

export const titleOfApplication = 'svc is not running';

export function startApplication(canWrite = true): Promise<ApplicationStage> {
  return start(canWrite);
}

async function start(canWrite: boolean): Promise<ApplicationStage> {
  const shell = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>svc</title><h1>${titleOfApplication}</h1>`);
  }).listen(0, '127.0.0.1');
  await once(shell, 'listening');
  const page = `http://127.0.0.1:${(shell.address() as AddressInfo).port}/app/key/`;
  const signIn = new SignIn(
    () => 0 as SteadyTime,
    () => {},
  );
  let asked = 0;
  const world = makeWorld('debug');
  const application: ApplicationLink = {
    signIn,
    page,
    showWindow: () => {
      asked++;
      return stage.shows;
    },
  };
  const ports = { ...world.ports, application };
  const access = { kind: 'bearer', matches: signIn.matches } as const;
  const admin = await openAdmin({ ...world, ports }, canWrite ? { access } : {});
  const origin = `http://127.0.0.1:${admin.port}`;
  let ending: Promise<void> | null = null;
  const end = (): Promise<void> => (ending ??= Promise.resolve(admin[Symbol.asyncDispose]()));
  const stage: ApplicationStage = {
    origin,
    world,
    page,
    shows: { kind: 'asked' },
    offer: (path) => `${origin}${path}#${signIn.offer()}`,
    grant: () => signIn.grant(),
    asked: () => asked,
    end,
    async [Symbol.asyncDispose]() {
      await end();
      shell.closeAllConnections();
      shell.close();
      await once(shell, 'close');
    },
  };
  return stage;
}

/** Allows the page to open the application's own page. */
export function expectToLeave(view: View, { page }: ApplicationStage): void {
  view.expectFault(new RegExp(`left its origin: ${RegExp.escape(new URL(page).origin)}`));
}

/** Makes the page's window one of the application, which gives it a token. */
export async function lendShell(
  page: Page,
  stage: ApplicationStage,
  token: () => string | null,
): Promise<void> {
  await page.exposeFunction('handOver', () => ({ token: token(), page: stage.page }));
  await page.addInitScript('globalThis.svcShell = { signIn: () => handOver() };');
}
