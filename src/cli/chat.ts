/** `svc chat`: a conversation with one brain in this terminal. */
import { channelOfBrain, type BrainConfig, type Secrets } from '../config/config.ts';
import { isOfMcpServer } from '../config/secrets.ts';
import { practiceModelName } from '../domain/remedy.ts';
import { logLevels } from '../lib/log.ts';
import { readSkills } from '../app/service.ts';
import { createCommandLog, readConfig, readLogLevel, readSecrets } from './frame/boot.ts';
import { exitCode, type Command, type Io } from './cli.ts';
import { findConfigFile, describeChoice, type ConfigFile } from './frame/config-file.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { plainText } from '../lib/plain-text.ts';
import { programVersion } from '../lib/program.ts';

const table = {
  config: { type: 'string' },
  brain: { type: 'string' },
  demo: { type: 'boolean' },
  explain: { type: 'boolean' },
  'log-level': { type: 'string', values: logLevels },
} as const;

export const chat: Command = {
  name: 'chat',
  summary: 'Talk to a brain in this terminal',
  usage: `Usage: svc chat [--config <file> | --demo] [--brain <name>] [--explain]
                [--log-level <level>]

Talks to a brain of a configuration, without its channels and its storage. It writes nothing, and
the conversation is over when the command ends. An agent uses its tools as on its first channel, but
its calls do not reach beyond this machine, and tools of MCP servers are not there. Without a
configuration file it talks to a practice model: a small program with fixed answers, no language
model.

  --config <file>      the configuration file (default: svc.json, when there is one)
  --brain <name>       which brain (default: the first one)
  --demo               the practice model, also when there is a svc.json
  --explain            also show which models it asked, how long each took, and why this reply;
                       without an answer it always shows that
  --log-level <level>  debug, info, warn or error (default: error)

At a terminal it shows a reply while the model writes it. The reply of an agent or a consensus comes
whole. If another text becomes the reply in the end, it stands below the first one.

/new starts a new conversation, /quit ends. Ctrl-C gives up the answer under way, or clears the
line, or ends. From a pipe, every line is a message, and only the replies go to standard output;
the exit code is 1 when a message got no answer.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'chat', parsed.message);
  const { config, brain, demo, explain, 'log-level': levelText } = parsed.flags;
  const level = readLogLevel(levelText, 'error');
  if ('fault' in level) return wrongUsage(io, 'chat', level.fault);
  if (demo && config !== null) {
    return wrongUsage(io, 'chat', '--demo and --config exclude each other.');
  }
  const file = findConfigFile(config, io);
  const practising = demo || file.by === 'none';
  const partner = practising ? await practicePartner() : await configuredPartner(file, brain, io);
  if (partner.kind === 'refused') {
    io.stderr.write(partner.report);
    return partner.code;
  }
  try {
    const log = createCommandLog(io, level.level);
    log.scrub(partner.secrets.values());
    const { openSession } = await import('./chat-session.ts');
    const { brain: partnerBrain, channel, secrets } = partner;
    const skills = await readSkills([partnerBrain]);
    if (skills.kind === 'problem') {
      io.stderr.write(`✗ ${skills.message}.\n`);
      return exitCode.config;
    }
    for (const { message } of skills.warnings) io.stderr.write(`! ${plainText(message)}\n`);
    const text = skills.texts.get(partnerBrain.name) ?? null;
    const where = { channel, skills: text, version: programVersion() };
    await using session = openSession(partnerBrain, secrets, log, where);
    const { runConsole } = await import('./frame/console.ts');
    return await runConsole(session, { io, explain, introduction: partner.introduction });
  } finally {
    await partner.close();
  }
}

type Partner =
  | {
      readonly kind: 'brain';
      readonly brain: BrainConfig;
      /** The channel whose grants an agent gets here; null: a place that no grant names. */
      readonly channel: string | null;
      readonly secrets: Secrets;
      readonly introduction: string;
      close(): Promise<void>;
    }
  | { readonly kind: 'refused'; readonly report: string; readonly code: number };

async function practicePartner(): Promise<Partner> {
  const { createPracticeModel } = await import('../app/practice-model.ts');
  const { closeServer, listenOnLoopback } = await import('../lib/loopback-port.ts');
  const { demoConfig } = await import('./demo/demo.ts');
  const server = createPracticeModel();
  const modelPort = await listenOnLoopback(server, 0);
  const ports = { webhookPort: 8090, receiverPort: 8091, adminPort: 2112, modelPort };
  const { config } = demoConfig({ ...ports, modelId: practiceModelName, storagePath: null });
  return {
    kind: 'brain',
    brain: config.brains[0]!,
    channel: null,
    secrets: new Map(),
    introduction: 'You talk to the practice model: a small program with fixed answers.',
    close: () => closeServer(server),
  };
}

async function configuredPartner(file: ConfigFile, name: string | null, io: Io): Promise<Partner> {
  const read = await readConfig(file, io);
  if (read.kind === 'refused') return { ...read, code: exitCode.config };
  const { brains } = read.config;
  const index = name === null ? 0 : brains.findIndex((one) => one.name === name);
  const brain = brains[index];
  if (brain === undefined) {
    const names = brains.map((one) => `"${one.name}"`).join(', ');
    const report = `svc chat: ${file.name} has no brain "${name}"; it has ${names}.\n`;
    return { kind: 'refused', report, code: exitCode.usage };
  }
  const concerns = (path: string): boolean =>
    path.startsWith(`brains[${index}].`) && !isOfMcpServer(path);
  const resolved = await readSecrets(read.config, io, { concerns });
  if (resolved.kind === 'refused') return { ...resolved, code: exitCode.config };
  const chosen = describeChoice(file);
  const models = brain.models.map(({ provider, modelId }) => `${provider}/${modelId}`).join(', ');
  return {
    kind: 'brain',
    brain,
    channel: channelOfBrain(brain.name, read.config),
    secrets: resolved.secrets,
    introduction: [
      `You talk to the brain "${brain.name}" (${models}).`,
      ...(chosen === null ? [] : [chosen]),
    ].join('\n'),
    close: () => Promise.resolve(),
  };
}
