/** What is told of a run, and to its parts, before they are opened. */
import { channelKeyFor } from '../channels/registry.ts';
import type { Config, Secrets } from '../config/config.ts';
import { revisionOf } from '../config/inspect.ts';
import type { ConfigSnapshot } from './config/prepare.ts';
import type { Events } from '../domain/event.ts';
import type { Log } from '../lib/log.ts';
import { nameServer, type AtServer } from './storage.ts';
import type { ServiceDeps } from './service.ts';
import type { Setup } from './run.ts';
import type { PublicNow } from '../ledger/sqlite/ledger/sensitivity-labels.ts';

/** What counts as public of all that was kept before there were stamps. */
export function publicBy({ channels, brains, routes }: Config, secrets: Secrets): PublicNow {
  const open = brains.filter(({ sensitivity }) => sensitivity === 'public');
  const names = open.map(({ name }) => name);
  const answered = new Set(
    routes.filter(({ brain }) => names.includes(brain)).map(({ channel }) => channel),
  );
  const keys = channels
    .filter(({ type }) => answered.has(type))
    .flatMap(({ type, tokenEnv }) => channelKeyFor(type, secrets.get(tokenEnv) ?? '') ?? []);
  return { channels: keys, brains: names };
}

/**
 * Says which server it is, without a secret. The URL is hidden from the log as a whole already; a
 * sentence of the server may have its password alone.
 */
export async function reportServer(
  at: AtServer,
  log: Pick<Log, 'scrub'>,
  events: Pick<Events, 'noticed'>,
  reserved: Pick<ServiceDeps['reserved'], 'addDatabase'>,
): Promise<void> {
  const named = await nameServer(at);
  if (named.kind === 'problem') return;
  reserved.addDatabase(named.hosts);
  if (named.password !== null) log.scrub([named.password]);
  const message = `Everything is kept in the ${named.text}.`;
  events.noticed({ code: 'storage_server', message });
}

/** What the first plan is made of. */
export function firstOf(
  { text, config, storage, warnings }: Setup,
  ofSkills: ConfigSnapshot['warnings'],
): ConfigSnapshot {
  return {
    text,
    revision: revisionOf(text),
    config,
    storage,
    warnings: [...warnings, ...ofSkills],
  };
}
