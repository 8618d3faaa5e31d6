/**
 * The parts of pages in docs/ that `npm run docs` makes from the source. In a page a part stands
 * between `<!-- begin: NAME (npm run docs) -->` and `<!-- end -->`. To add one, write the two marks
 * into the page, and a function that makes the text into the list below.
 */
import { routesOf, type TableParts } from '../src/admin/routes/all-routes.ts';
import type { Route } from '../src/admin/routes/route.ts';
import type { AdminPorts } from '../src/admin/admin.ts';
import type { Command } from '../src/cli/cli.ts';
import { allCommands } from '../src/cli/commands.ts';
import { topics, type Metric } from '../src/telemetry/prometheus/catalog.ts';

const parts: Readonly<Record<string, () => string | Promise<string>>> = {
  routes: routeTable,
  commands: commandTable,
  metrics: metricTables,
};

/**
 * Returns a page with each of its generated parts as the source has it now.
 * @throws if a mark names no part, or has no end
 */
export async function withGeneratedParts(page: string): Promise<string> {
  const [before = '', ...marked] = page.split(/^<!-- begin: (?=\w+ \(npm run docs\) -->$)/m);
  const made = marked.map(async (text) => {
    const name = /^\w+/.exec(text)![0];
    const end = text.indexOf('<!-- end -->');
    const make = parts[name];
    if (make === undefined || end < 0) throw new Error(`the generated part ${name}`);
    return `<!-- begin: ${name} (npm run docs) -->\n\n${await make()}\n${text.slice(end)}`;
  });
  return [before, ...(await Promise.all(made))].join('');
}

/** A table as the formatter writes it: each column as wide as its widest cell. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = cells[0]!.map((_, at) => Math.max(3, ...cells.map((row) => row[at]!.length)));
  const line = (row: readonly string[], fill: string): string =>
    `| ${widths.map((width, at) => row[at]!.padEnd(width, fill)).join(' | ')} |\n`;
  const [head, ...others] = cells;
  const rule = head!.map(() => '');
  return line(head!, ' ') + line(rule, '-') + others.map((row) => line(row, ' ')).join('');
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** Every route of the admin server, of every kind of service, by its path. */
function routeTable(): string {
  // The table needs no service. It only passes the ports on, to answers that nobody asks for.
  const unasked: object = new Proxy({}, { get: () => unasked });
  const options = { metrics: unasked, live: unasked, access: 'bearer', webRoot: '' };
  const { routes } = routesOf(unasked as AdminPorts, options as TableParts);
  const rows = routes.toSorted(byPath).map((route) => [
    code(route.method),
    code(route.path),
    Object.entries(route.parameters ?? {})
      .filter(([, { kind }]) => kind !== 'segment' && kind !== 'header')
      .map(([name]) => code(name))
      .join(', '),
    whoMayUse(route),
    route.summary,
    code(auditWord(route)),
  ]);
  return markdownTable([['Method', 'Path', 'Query', 'Who', 'What', 'Audit'], ...rows]);
}

function byPath(one: Route, other: Route): number {
  const [a, b] = [one.path, other.path];
  return a === b ? 0 : a < b ? -1 : 1;
}

function whoMayUse(route: Route): string {
  const { principal } = route;
  const isOnlyHere = route.kind !== 'read' && route.onlyHere === true;
  const who = principal === 'prober' ? 'anybody' : principal;
  return isOnlyHere ? `${who}, on this machine` : who;
}

function auditWord(route: Route): string {
  return (route.kind === 'write' ? route.action : route.kind === 'read' && route.reveals) || '';
}

/** Every command with its flags, in the words of `svc help`. */
async function commandTable(): Promise<string> {
  const rows = (await allCommands()).flatMap((command) => [
    [code(callOf(command)), '', `${command.summary}.`],
    ...flagsOf(command).map(([flag, meaning]) => ['', code(flag), meaning]),
  ]);
  return markdownTable([['Command', 'Flag', 'What'], ...rows]);
}

/** The name and the arguments of a command, from the first line of its page in the help. */
function callOf({ usage }: Command): string {
  return /^Usage: (.+?)(?: \[?--.*)?$/m.exec(usage)![1]!;
}

/** @throws if the help of a command does not explain one of its flags */
function flagsOf({ name, usage, flags }: Command): [flag: string, meaning: string][] {
  const lines = usage.matchAll(/^ {2}(--([\w-]+)(?: \S+)?) {2,}(.+(?:\n {8,}\S.*)*)/gm);
  const found = new Map([...lines].map(([, flag, key, text]) => [key!, [flag!, text!] as const]));
  return Object.keys(flags).flatMap((key) => {
    const [flag, text] = found.get(key) ?? [];
    if (flag === undefined) throw new Error(`svc help ${name} does not explain --${key}`);
    // Every command takes it in the same way, so the page explains it once.
    return key === 'config' ? [] : [[flag, text!.replaceAll(/\s*\n\s*/g, ' ')]];
  });
}

/** A table of metrics for each topic. */
function metricTables(): string {
  return Object.entries(topics)
    .map(([topic, metrics]) => `### ${topic}\n\n${markdownTable(rowsOf(metrics))}`)
    .join('\n');
}

function rowsOf(metrics: Readonly<Record<string, Metric>>): string[][] {
  const rows = Object.entries(metrics).map(([name, { kind, help, labels }]) => [
    code(name),
    kind,
    labels.map(code).join(', '),
    help,
  ]);
  return [['metric', 'type', 'labels', 'meaning'], ...rows];
}
