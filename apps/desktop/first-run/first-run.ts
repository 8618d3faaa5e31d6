/**
 * The first run, which takes the place of the service: the steps of `svc init` on the pages of a
 * window. The service that they start runs in this process. After the last step, the shell ends
 * this process, which finishes its work in hand, and starts the service. If a needed secret is kept
 * nowhere, this process goes on answering until someone ends it.
 */
import { fileURLToPath } from 'node:url';
import { SignIn, type Traded } from '../../../src/admin/http/sign-in.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Log } from '../../../src/lib/log.ts';
import { describeBindError } from '../../../src/lib/listener.ts';
import { stopOf, unlessStopped } from '../../../src/lib/stop.ts';
import { openWizardServer, type WizardApplication } from '../../setup/browser/wizard-server.ts';
import { openSetup } from '../../setup/session.ts';
import type { SetupEnd, SetupSession } from '../../setup/setup.ts';
import { createSetupWorld, type WorldOptions } from '../../setup/world.ts';
import { openCoreLink, type CoreLink } from '../core/service-core.ts';
import type { CoreOrders } from '../desktop.ts';

export type FirstRunOptions = Omit<WorldOptions, 'shown' | 'onTurn'> & {
  readonly orders: CoreOrders;
};

/** `failed`: the message is svc's own. */
export type FirstRunEnd =
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly message: string };

/** Runs until someone stops it, or the service that it started fails. */
export async function runFirstRun(options: FirstRunOptions): Promise<FirstRunEnd> {
  const { file, log, orders, webRoot } = options;
  const stopping = new AbortController();
  const stop = AbortSignal.any([options.stop, stopping.signal]);
  // The window may hide its page for any length of time.
  const signIn = new SignIn(
    systemClock.steady,
    (traded) => reportTraded(traded, log, link),
    Infinity,
  );
  let url = '';
  await using link = openCoreLink(orders, {
    role: 'first_run',
    config: file,
    offer: () => `${url}#${signIn.offer()}`,
    grant: () => signIn.grant(),
    withdraw: () => signIn.withdraw(),
    stop: () => stopping.abort(),
  });
  // Disposed after its pages. It ends the service, which first finishes its work in hand.
  await using world = createSetupWorld({ ...options, shown: file, stop });
  await using session = openSetup(world, 'window');
  const server = await openWizardServer({
    session,
    webRoot: fileURLToPath(webRoot),
    application: applicationOf(link, signIn),
    onShown: (revision) => {
      if (session.goesOn && revision === session.revision) link.written();
    },
    onTraded: () => {},
    onFault: (error) => log.error('bug', `A bug in svc itself: ${String(error)}`),
  });
  if ('code' in server) return { kind: 'failed', message: describeBindError(server.code, 0) };
  await using pages = server;
  ({ url } = pages);
  link.atWork(new URL(url).origin, true);
  return await untilEnd(session, stop);
}

function reportTraded(traded: Traded, log: Log, link: CoreLink): void {
  if (traded.kind === 'token' || traded.why !== 'used_twice') return;
  const what = 'A code that opens the pages was used twice, so whoever was signed in is not now.';
  log.warn('sign_in_withdrawn', what);
  link.withdrawn();
}

function applicationOf(link: CoreLink, signIn: SignIn): WizardApplication {
  return {
    signIn,
    get page() {
      return link.page;
    },
    showWindow: () => link.showWindow(),
  };
}

async function untilEnd({ ended }: SetupSession, stop: AbortSignal): Promise<FirstRunEnd> {
  const end: SetupEnd | null = await unlessStopped(ended, stopOf(stop));
  return end?.kind === 'failed' ? end : { kind: 'ended' };
}
