/** `svc serve`: reads the arguments, starts the storage thread early, and runs the service. */
import { takeOrders } from '../../apps/desktop/core/orders.ts';
import { logLevels } from '../lib/log.ts';
import type { Command, Io } from './cli.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { beginNamedStorage } from './frame/named-storage.ts';

const table = {
  config: { type: 'string' },
  'webhook-bind': { type: 'strings' },
  'completions-bind': { type: 'string' },
  'admin-addr': { type: 'string' },
  'log-level': { type: 'string', values: logLevels },
} as const;

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service',
  usage: `Usage: svc serve [--config <file>] [--webhook-bind [NAME=]<address>]
                 [--completions-bind <address>] [--admin-addr <address>]
                 [--log-level <level>]

Runs the service until SIGTERM or SIGINT (Ctrl-C). Then it finishes its work in hand, and ends. A
second signal ends it at once. On SIGHUP it reads the configuration file again and takes it into
use; a SIGHUP from a terminal that closes stops the service.

  --config <file>               the configuration file (default: svc.json)
  --webhook-bind <address>      where the webhook listens, in the place of channels[].webhook.bind;
                                NAME=ADDRESS for one of several webhooks, as often as needed
  --completions-bind <address>  where the completions API listens, in the place of completions.bind
  --admin-addr <address>        where the admin server listens, in the place of observability.addr
  --log-level <level>           debug, info, warn or error (default: info)

Several svc may share one configuration and listen at different addresses. An address is host:port,
:port or [::1]:port. It holds until this svc ends, for every configuration that it takes. Commands
that ask a running svc, such as svc status, and svc doctor use the address in the file.

Exit codes: 0 stopped as asked, 1 failed at its start or later, 2 wrong usage, 78 the
configuration, a secret, an address or the storage does not allow a start (1 where a restart may
help: the database is in use, or its disk failed or is full).
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const onReload = latchHangUps(io);
  const taken = takeOrders(io.env);
  if (taken.kind === 'fault') return wrongUsage(io, 'serve', taken.message);
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'serve', parsed.message);
  await using thread = await beginNamedStorage(parsed.flags.config, io);
  const { runServe } = await import('./serving.ts');
  const orders = taken.kind === 'none' ? null : taken.orders;
  return await runServe(parsed.flags, { io, orders, onReload, startWriter: thread?.start });
}

/** Remembers a hang-up that comes before the service can act on it, and delivers it then. */
function latchHangUps({ onHangUp }: Io): (reload: () => void) => void {
  let isPending = false;
  let act = (): void => {
    isPending = true;
  };
  onHangUp(() => act());
  return (reload) => {
    act = reload;
    if (isPending) reload();
  };
}
