/** Makes the manual page svc(1) from the table of commands. Format: man-pages(7), groff_man(7). */
import type { Command } from '../../src/cli/cli.ts';

export type ManualOptions = {
  readonly version: string;
  /** Seconds since 1970. */
  readonly epochS: number;
};

/** @returns the page, in roff */
export function manualPage(
  commands: readonly Pick<Command, 'name' | 'summary' | 'usage'>[],
  { version, epochS }: ManualOptions,
): string {
  const day = new Date(epochS * 1000).toISOString().slice(0, 10);
  const overview = commands.map(({ name, summary }) => {
    return `.TP\n.B ${literal(`svc ${name}`)}\n${text(`${summary}.`)}\n`;
  });
  const pages = commands.map(({ name, usage }) => `.SS ${literal(name)}\n${blocks(usage)}`);
  return [
    `.TH SVC 1 ${day} "svc ${literal(version)}" "User Commands"\n`,
    '.SH NAME\nsvc \\- a self\\-hosted message router\n',
    '.SH SYNOPSIS\n.B svc\n.I command\n.RI [ option " ...]"\n',
    `.SH DESCRIPTION\n${text(description)}\n`,
    ...overview,
    '.SH COMMANDS\n',
    ...pages,
    `.SH FILES\n${named(files)}`,
    `.SH EXIT STATUS\n${named(exits)}`,
    `.SH SEE ALSO\n${text(also)}\n`,
  ].join('');
}

const description =
  'svc takes a message from a channel, asks a brain, and sends the reply back. One process, one ' +
  'JSON file.';

const files = [
  ['/etc/svc/svc.json', 'The configuration of the service. svc may write here.'],
  ['/etc/credstore/svc', 'The secrets of the service: one a file, for root alone.'],
  ['/var/lib/svc', 'The database of the service.'],
  ['~/.config/svc', 'Configuration and database of a person who starts svc.'],
] as const;

const exits = [
  ['0', 'Fine.'],
  ['1', 'Failed at run time.'],
  ['2', 'Wrong usage.'],
  ['78', 'The configuration or a secret has a problem.'],
] as const;

const also = 'systemctl(1), systemd.exec(5), and the documents in /usr/share/doc/svc.';

function named(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([name, about]) => `.TP\n.B ${literal(name)}\n${text(about)}\n`).join('');
}

/** Fills sentences to the width of the screen, and keeps all other lines as written. */
function blocks(usage: string): string {
  const parts = usage
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const lines = block.split('\n');
      const isProse = lines.every((line) => /^\S/.test(line)) && !block.startsWith('Usage:');
      return isProse
        ? `.PP\n${text(lines.join(' '))}\n`
        : `.PP\n.EX\n${lines.map(text).join('\n')}\n.EE\n`;
    });
  return parts.join('');
}

/** One line of text. Protects a leading dot or quote, which would be a request. */
function text(line: string): string {
  return literal(line).replace(/^(?=[.'])/, '\\&');
}

/** Escapes a typed dash, and the other characters that roff would interpret. */
function literal(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('`', '\\(ga');
}
