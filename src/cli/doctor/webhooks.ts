/** Webhooks that other programs have set for the bots of messengers, for which svc polls. */
import type { WebhookSeen } from '../../channels/channel.ts';
import { isMessenger } from '../../channels/registry.ts';
import type { Config, MessengerConfig } from '../../config/config.ts';
import { namedSecrets, resolveSecrets } from '../../config/secrets.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock } from '../../lib/clock.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { failed, ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
import { createMessenger, createServiceDeps } from '../../app/service.ts';
import type { Io } from '../cli.ts';
import { createCommandLog } from '../frame/boot.ts';

const askMs = 10_000;

/**
 * A line for each one that is set. A bot that cannot be asked is told by whose token it is, and
 * where a webhook of it was to be deleted, also here.
 * @param deleting they are deleted
 */
export async function webhookLines(
  config: Config,
  io: Io,
  deleting: boolean,
): Promise<readonly PreflightLine[]> {
  const messengers = config.channels.filter(isMessenger);
  if (messengers.length === 0) return [];
  const names = namedSecrets(config).map(({ name }) => name);
  const { secrets } = resolveSecrets(config, await io.secrets.find(names, io.stop));
  const log = createCommandLog(io, 'error');
  log.scrub(secrets.values());
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  const signal = AbortSignal.any([io.stop, AbortSignal.timeout(askMs)]);
  const lines = messengers.map(async (messenger) => {
    if (!secrets.has(messenger.tokenEnv)) return [];
    await using channel = createMessenger(messenger, secrets, deps);
    const seen = (await channel.webhook?.(signal, deleting)) ?? ({ kind: 'none' } as const);
    const line = deleting ? lineAfter(messenger, seen) : lineOf(messenger, seen);
    return line === null ? [] : [line];
  });
  try {
    return (await Promise.all(lines)).flat();
  } finally {
    await deps.http.close();
  }
}

type Bot = Pick<MessengerConfig, 'type' | 'tokenEnv'>;

function lineOf({ type, tokenEnv }: Bot, seen: WebhookSeen): PreflightLine | null {
  if (seen.kind !== 'set') return null;
  return warning(
    type,
    `another program set a webhook for its bot, to ${plainLine(seen.host)}: ` +
      'meanwhile svc gets no messages',
    `End that program, or give svc a bot of its own in ${tokenEnv}; then svc doctor ` +
      '--delete-webhook deletes it, as svc does when it starts. No message that waits is lost.',
  );
}

/** After it was to be deleted. */
function lineAfter({ type, tokenEnv }: Bot, seen: WebhookSeen): PreflightLine | null {
  switch (seen.kind) {
    case 'none':
      return null;
    case 'deleted':
      return ok(
        type,
        `its webhook, which led to ${plainLine(seen.host)}, is deleted; ` +
          'no message that waits is lost',
      );
    case 'set':
      return failed(
        type,
        `its webhook, which leads to ${plainLine(seen.host)}, could not be deleted`,
        'Run svc doctor --delete-webhook again in a minute. svc deletes it too, when it starts.',
      );
    case 'unknown':
      return failed(
        type,
        'it could not be asked for a webhook of its bot, so none is deleted',
        `Look at the token in ${tokenEnv} and at the network; then run svc doctor ` +
          '--delete-webhook again.',
      );
    default:
      return seen satisfies never;
  }
}
