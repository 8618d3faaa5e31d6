/** `svc routes`: lists the routes, or says which one a message takes, and why. */
import { channelName, kindOf, type ChannelConfig } from '../channels/registry.ts';
import { registeredName, type Config, type RouteConfig } from '../config/config.ts';
import {
  describeCondition,
  explainRoutes,
  type RouteExplanation,
} from '../domain/explain-route.ts';
import { leadingCommand, routeCommandOf } from '../domain/routing.ts';
import { plainJson, plainLine } from '../lib/plain-text.ts';
import { exitCode, type Command, type Io } from './cli.ts';
import { readConfig } from './frame/boot.ts';
import { useConfigFile } from './frame/config-file.ts';
import { parseFlags, wrongUsage, type Flags } from './frame/flags.ts';
import { isColoured, signOf } from './frame/report.ts';

const table = {
  config: { type: 'string' },
  channel: { type: 'string' },
  text: { type: 'string' },
  chat: { type: 'string' },
  topic: { type: 'string' },
  sender: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const routes: Command = {
  name: 'routes',
  summary: 'List the routes, or say which one a message takes and why',
  usage: `Usage: svc routes [--config <file>] [--channel <name>] [--json]
       svc routes [--config <file>] [--channel <name>] [--text <text>] [--chat <id>]
                  [--topic <id>] [--sender <id>] [--json]

Without a message it lists the routes of each channel in the order in which svc tries them. With
--text, --chat, --topic or --sender it says which route such a message takes, and why it does not
take the routes before. It reads the configuration alone, and contacts nothing.

  --config <file>   the configuration file (default: svc.json)
  --channel <name>  the channel; needed for a message if there are several
  --text <text>     the text of the message
  --chat <id>       its chat, group or channel; on a webhook the conversation
  --topic <id>      its topic or thread
  --sender <id>     who sends it
  --json            print {"channels"}, or for a message {"channel", "taken", "routes"}

If a route asks for something that you leave out, it is not decided, and its line says what is
missing.

  svc routes --channel support --chat -1001234 --topic 7 --text '/code sort a list'

Exit codes: 0 fine, 2 wrong usage, 78 the configuration has a problem.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'routes', parsed.message);
  const { flags } = parsed;
  const file = useConfigFile(flags.config, io);
  const read = await readConfig(file, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { config } = read;
  const all = channelsOf(config);
  const named = flags.channel === null ? null : registeredName(flags.channel);
  const chosen = all.filter(({ channel }) => named === null || channel.name === named);
  const names = all.map(({ channel }) => channel.name).join(', ') || 'none';
  if (all.length === 0 && named === null) {
    const offered = (config.completions?.brains ?? []).join(', ');
    const sentence = `No channel has a route. Clients of the completions API can use: ${offered}.`;
    io.stdout.write(flags.json ? listAsJson([]) : lineOf(sentence));
    return exitCode.fine;
  }
  if (chosen.length === 0) {
    return wrongUsage(
      io,
      'routes',
      `no route names the channel "${flags.channel}"; routes name ${names}.`,
    );
  }
  const { text, chat, topic, sender } = flags;
  if ([text, chat, topic, sender].every((one) => one === null)) {
    io.stdout.write(flags.json ? listAsJson(chosen) : chosen.map(listOf).join('\n'));
    return exitCode.fine;
  }
  if (chosen.length > 1) {
    return wrongUsage(io, 'routes', `Choose the channel of the message with --channel: ${names}.`);
  }
  const [on] = chosen;
  const placeOf = kindOf(on!.channel.type).placeOf;
  const triggers = config.session?.triggers ?? [];
  const explanation = explainRoutes(on!.routes, flags, { placeOf, triggers });
  io.stdout.write(
    flags.json
      ? explanationAsJson(on!, explanation)
      : explanationOf(on!, explanation, { flags, triggers, io }),
  );
  return exitCode.fine;
}

type ListedRoute = RouteConfig & { readonly sensitivity: 'public' | 'private' };
type ChannelRoutes = { readonly channel: ChannelConfig; readonly routes: readonly ListedRoute[] };

/** The channels that have routes, in the order of the configuration. */
function channelsOf({ channels, brains, routes: all }: Config): readonly ChannelRoutes[] {
  const labels = new Map(brains.map(({ name, sensitivity }) => [name, sensitivity]));
  return channels.flatMap((channel) => {
    const own = all.filter((route) => route.channel === channel.name);
    const listed = own.map((route) => ({ ...route, sensitivity: labels.get(route.brain)! }));
    return listed.length === 0 ? [] : [{ channel, routes: listed }];
  });
}

function listOf(on: ChannelRoutes): string {
  const lines = on.routes.map(({ number, when, brain, sensitivity, description }) => {
    const condition = on.routes.length === 1 ? 'every message' : describeCondition(when);
    const about = description === null ? '' : ` “${description}”`;
    return lineOf(`  route ${number}: ${condition} → ${brain} (${sensitivity})${about}`);
  });
  return [lineOf(titleOf(on)), ...lines].join('');
}

function titleOf({ channel: { name, type } }: ChannelRoutes): string {
  return name === type ? channelName(name) : `${name} (${kindOf(type).name})`;
}

function explanationOf(
  on: ChannelRoutes,
  { taken, routes: verdicts }: RouteExplanation,
  given: { readonly flags: Flags<typeof table>; triggers: readonly string[]; readonly io: Io },
): string {
  const { flags, triggers, io } = given;
  const sign = (mark: 'ok' | 'warning'): string => signOf(mark, isColoured(io.stdout, io.env));
  const lines = verdicts.map(({ number, verdict, why }) => {
    return lineOf(`  route ${number}: ${verdictWords[verdict]}: ${why}`);
  });
  const route = on.routes.find(({ number }) => number === taken?.number);
  if (taken === null || route === undefined) throw new Error('a channel has no last route');
  const unknown = verdicts.filter(({ verdict }) => verdict === 'unknown');
  const unless = unknown.length === 0 ? '' : ', unless a route that is not decided comes first';
  const mark = sign(unknown.length === 0 ? 'ok' : 'warning');
  const verdict = `route ${route.number}: ${route.brain} (${route.sensitivity}) answers${unless}`;
  const command = routeCommandOf(taken);
  const isBare = command !== null && leadingCommand(flags.text ?? '', triggers)?.rest === '';
  const bare = 'The text is the command alone: svc describes it, and asks no model.';
  return [
    lineOf(titleOf(on)),
    ...lines,
    `${mark} ${lineOf(verdict)}`,
    ...(isBare ? [`  ${bare}\n`] : []),
  ].join('');
}

const verdictWords = {
  taken: 'taken',
  not_taken: 'not taken',
  unknown: 'not decided',
  not_reached: 'not reached',
} as const;

function listAsJson(all: readonly ChannelRoutes[]): string {
  const channels = all.map(({ channel: { name, type }, routes: own }) => {
    const rows = own.map(({ number, brain, sensitivity, when, description }) => {
      return { number, brain, sensitivity, when, description };
    });
    return { channel: name, type, routes: rows };
  });
  return `${plainJson({ channels }, 2)}\n`;
}

function explanationAsJson(
  { channel: { name: channel } }: ChannelRoutes,
  { taken, routes: rows }: RouteExplanation,
): string {
  return `${plainJson({ channel, taken, routes: rows }, 2)}\n`;
}

function lineOf(text: string): string {
  return `${plainLine(text)}\n`;
}
