/** Webhooks that other programs have set for the bots of messengers, for which svc polls. */
import { isMessenger } from '../../channel/kinds.ts';
import type { Config, MessengerConfig } from '../../config/config.ts';
import { namedSecrets, resolveSecrets } from '../../config/secrets.ts';
import { createEvents } from '../../events.ts';
import { systemClock } from '../../lib/clock.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { ok, warning, type PreflightLine } from '../../preflight/lines.ts';
import { createMessenger, createServiceKit } from '../../service.ts';
import type { Io } from '../cli.ts';
import { createCommandLog } from '../frame/boot.ts';

const askMs = 10_000;

/**
 * A line for each one that is set. A bot that cannot be asked is told by whose token it is.
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
  const kit = createServiceKit(createEvents({ log, ...systemClock }), programVersion());
  const signal = AbortSignal.any([io.stop, AbortSignal.timeout(askMs)]);
  const lines = messengers.map(async (messenger) => {
    if (!secrets.has(messenger.tokenEnv)) return [];
    await using channel = createMessenger(messenger, secrets, kit);
    const seen = (await channel.webhook?.(signal, deleting)) ?? { kind: 'none' };
    return 'host' in seen ? [lineOf(messenger, seen.kind, plainLine(seen.host))] : [];
  });
  try {
    return (await Promise.all(lines)).flat();
  } finally {
    await kit.http.close();
  }
}

function lineOf(
  { type, tokenEnv }: Pick<MessengerConfig, 'type' | 'tokenEnv'>,
  kind: 'set' | 'deleted',
  host: string,
): PreflightLine {
  if (kind === 'deleted') {
    return ok(type, `its webhook, which led to ${host}, is deleted; no message that waits is lost`);
  }
  return warning(
    type,
    `another program set a webhook for its bot, to ${host}: meanwhile svc gets no messages`,
    `End that program, or give svc a bot of its own in ${tokenEnv}; then svc doctor ` +
      '--delete-webhook deletes it, as svc does when it starts. No message that waits is lost.',
  );
}
