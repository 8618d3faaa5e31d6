import { isListener, kindOf } from '../../channels/registry.ts';
import type { Config, ListenAddress } from '../../config/config.ts';
import { addressFlags } from '../../config/own-addresses.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { holderOfPort, describeHolder } from '../../lib/holders.ts';
import { createHttpClient, type HttpClient } from '../../lib/http-client.ts';
import { createListeners } from '../../lib/listener.ts';
import { failed, ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
import { originOf } from '../../lib/own-address.ts';

type Listener = {
  readonly subject: string;
  readonly address: ListenAddress;
  /** The field that holds the address. */
  readonly field: string;
  /** The flag of `svc serve` that may have given it another. */
  readonly flag: string;
  /** When the address is taken, svc starts without this listener. */
  readonly optional: boolean;
};

/**
 * Whether svc may listen where it is to, or does so already.
 * @param owned whether a running svc holds the database; null: there is no database to tell by
 */
export async function listenerLines(
  config: Pick<Config, 'channels' | 'observability'>,
  owned: boolean | null,
): Promise<readonly PreflightLine[]> {
  const http = createHttpClient(createDeadlines());
  try {
    return await Promise.all(listenersOf(config).map((one) => listenerLine(one, owned, http)));
  } finally {
    await http.close();
  }
}

function listenersOf({
  channels,
  observability,
}: Pick<Config, 'channels' | 'observability'>): readonly Listener[] {
  const listeners = channels.filter(isListener).map(({ type, bind }) => {
    const field = `${kindOf(type).listener.block}.bind`;
    const flag = addressFlags.webhook;
    return { subject: `${type} at ${bind.text}`, address: bind, field, flag, optional: false };
  });
  if (!observability.enabled) return listeners;
  const { address } = observability;
  const field = 'observability.addr';
  const admin = { subject: `admin server at ${address.text}`, address, field };
  const flag = addressFlags.admin;
  return [...listeners, { ...admin, flag, optional: !address.given }];
}

async function listenerLine(
  { subject, address, field, flag, optional }: Listener,
  owned: boolean | null,
  http: HttpClient,
): Promise<PreflightLine> {
  if (address.port === 0) return ok(subject, 'takes any free port');
  const found = await whoAnswers(address, http);
  switch (found) {
    case 'svc': {
      if (owned !== false) return ok(subject, 'a running svc answers');
      const message = 'an svc answers that does not hold this database';
      return warning(subject, message, `Stop that one, or change ${field}.`);
    }
    case 'free': {
      if (owned !== true) return ok(subject, 'is free');
      const message = 'is free, though a running svc holds the database';
      const remedy =
        `That svc has another configuration: start it again. Or ${flag} gave it another address ` +
        'at its start: then all is well.';
      return warning(subject, message, remedy);
    }
    case 'taken': {
      const message = `is taken by another program${describeHolder(holderOfPort(address.port))}`;
      const remedy = `Stop that program, or change ${field}.`;
      return optional ? warning(subject, message, remedy) : failed(subject, message, remedy);
    }
    default: {
      const message = `cannot be listened on (${found.code})`;
      return failed(subject, message, `Change ${field} to an address of this machine.`);
    }
  }
}

const answerMs = 3_000;

/** Asks before it tries to listen, so that nobody loses the address, not even for a moment. */
async function whoAnswers(
  address: ListenAddress,
  http: HttpClient,
): Promise<'svc' | 'free' | 'taken' | { readonly code: string }> {
  const result = await http.send({
    method: 'GET',
    url: new URL('/healthz', originOf(address)),
    headers: {},
    body: null,
    deadlineAt: later(steadyNow(), answerMs),
    bodyBytesMax: 65_536,
  });
  if (result.kind === 'answer') return isHealth(result.body) ? 'svc' : 'taken';
  if (result.fault !== 'connect_failed') return 'taken';
  const held = await createListeners().take(address);
  if (held.kind === 'fault') return held.code === 'EADDRINUSE' ? 'taken' : { code: held.code };
  await held.release(0);
  return 'free';
}

function isHealth(body: string): boolean {
  try {
    const status: unknown = (JSON.parse(body) as { status?: unknown } | null)?.status;
    return status === 'ok' || status === 'failing';
  } catch {
    return false;
  }
}
