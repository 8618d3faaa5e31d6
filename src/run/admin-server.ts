/** The admin server of a run: its address, who may write, and what it is told by. */
import type { AdminPorts, Health, PlanView } from '../admin/admin.ts';
import type { OperatorAccess } from '../admin/http/auth.ts';
import type { AdminOpened, AdminProblem } from '../admin/http/server.ts';
import type { Config, Secrets } from '../config/config.ts';
import type { Control } from '../control/control.ts';
import type { EventHub } from '../events.ts';
import type { Host } from './host.ts';
import { createTokenCheck } from '../lib/bearer.ts';
import type { Lifetime } from '../lib/lifetime.ts';
import { createTrials } from '../control/trials.ts';
import type { Setup } from './run.ts';
import { openAdmin, type ServiceKit } from '../service.ts';
import type { OpenStore } from '../storage.ts';

export type AdminParts = {
  readonly kit: ServiceKit;
  readonly events: EventHub;
  readonly host: Host;
  readonly store: OpenStore;
  readonly control: Control;
  readonly health: () => Health;
  readonly warnings: () => PlanView['warnings'];
};

/**
 * When a default address is taken, svc runs without the admin server. When an address of the file
 * is taken, the start fails.
 * @param lifetime closes the server
 * @returns null: the server is off
 */
export async function startAdmin(
  setup: Setup,
  lifetime: Lifetime,
  parts: AdminParts,
): Promise<AdminOpened | AdminProblem | null> {
  const { config, secrets, webRoot } = setup;
  const { kit, control } = parts;
  const settings = config.observability;
  const access = operatorAccess(config.admin, secrets);
  const allowedHosts = (): readonly string[] => control.used.config.observability.allowedHosts;
  const ports = portsOf(setup, parts);
  const opened = await openAdmin({ settings, access, allowedHosts, webRoot, ports }, kit, lifetime);
  if (opened === null || opened.kind === 'opened' || settings.address.given) return opened;
  kit.events.warned({ code: 'admin_off', message: `${opened.message} It is off for this run.` });
  return null;
}

/** How the administrator is known; read-only where the block or the variable's value is missing. */
function operatorAccess(admin: Config['admin'], secrets: Secrets): OperatorAccess {
  if (admin === null) {
    const remedy = 'An admin block in the configuration, with token_env, switches writing on.';
    return { kind: 'none', remedy };
  }
  const token = secrets.get(admin.tokenEnv);
  if (token !== undefined) return { kind: 'bearer', matches: createTokenCheck(token) };
  const remedy = `Set ${admin.tokenEnv}, which admin.token_env names, and restart.`;
  return { kind: 'none', remedy };
}

function portsOf(setup: Setup, parts: AdminParts): AdminPorts {
  const { version, file, env, lookup, log, storagePath: heldDatabase } = setup;
  const { kit, events, host, control } = parts;
  const { ledger, reader } = parts.store;
  const view = (): PlanView => {
    const channels = host.plan?.channels ?? [];
    return {
      revision: control.used.revision,
      usedAt: control.inUse().usedAt,
      config: control.used.config,
      warnings: parts.warnings(),
      channels: channels.map(({ type, channel }) => ({ type, ...channel.health() })),
    };
  };
  return {
    version,
    startedAt: kit.now(),
    now: kit.now,
    health: parts.health,
    plan: view,
    meters: events.meters,
    frames: events.frames,
    gauges: () => ledger.gauges(),
    backlog: () => ledger.backlog(),
    connections: () => kit.listeners.connections,
    modelLoads: () => kit.bounds.loads,
    reader,
    writes: ledger,
    audit: (row) => ledger.recordWrite(row),
    turnedAway: () => host.gate.turnedAway,
    pairings: host.pairings,
    control,
    trials: createTrials({
      file,
      env,
      lookup,
      heldDatabase,
      config: () => control.used.config,
      kit,
      reader,
      log,
    }),
    events,
  };
}
