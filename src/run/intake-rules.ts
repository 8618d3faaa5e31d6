import type { Inbound } from '../domain/message.ts';
import { commandsOn } from '../flow/commands.ts';
import type { GatedChannel } from '../flow/gate.ts';
import type { ActiveRoute } from '../flow/kit.ts';
import { isCommand } from '../flow/sessions.ts';

/** Who may talk on a channel, and what becomes of what is said there. */
export type IntakeRules = Omit<GatedChannel, 'channel' | 'access'> & Pick<ActiveRoute, 'access'>;

export function rulesOf(route: ActiveRoute): IntakeRules {
  const { access, brain, gatherMs = 0 } = route;
  const knows = (inbound: Inbound): boolean => isCommand(inbound.text, commandsOn(route, inbound));
  return { access, sensitivity: brain.sensitivity, knows, gatherMs };
}
