/** The addresses where a configuration has channels listen. */
import { isListener, kindOf } from '../../channels/registry.ts';
import type { Config } from '../../config/config.ts';
import { holderOfPort, describeHolder } from '../../lib/holders.ts';
import type { Listeners } from '../../lib/listener.ts';
import { ok, refusing, type PreflightLine } from './lines.ts';

/**
 * Listens for a moment where a channel that is routed would, as taking the configuration into use
 * does: what the service listens on already is shared with it.
 * @param listeners of the service that would use the configuration
 */
export function listeningLines(
  { channels, routes }: Pick<Config, 'channels' | 'routes'>,
  listeners: Listeners,
): Promise<readonly PreflightLine[]> {
  const routed = channels.filter(({ type }) => routes.some(({ channel }) => channel === type));
  return Promise.all(
    routed.filter(isListener).map(async ({ type, bind }) => {
      const subject = `${type} at ${bind.text}`;
      if (bind.port === 0) return ok(subject, 'takes any free port');
      const field = `${kindOf(type).listener.block}.bind`;
      const held = await listeners.take(bind);
      if (held.kind === 'held') {
        await held.release(0);
        return ok(subject, 'can be listened on');
      }
      if (held.code !== 'EADDRINUSE') {
        const message = `cannot be listened on (${held.code})`;
        return refusing(subject, message, `Change ${field} to an address of this machine.`);
      }
      const message = `is taken by another program${describeHolder(holderOfPort(bind.port))}`;
      return refusing(subject, message, `Stop that program, or change ${field}.`);
    }),
  );
}
