/**
 * The reasons why a block does not run with its page. The mark follows the language: "```sh
 * systemd". Blocks without a mark run in the order of the page.
 */
import type { Block } from './blocks.ts';

type Mark = {
  readonly why: string;
  /** Every block with this mark matches this; another block could run. */
  readonly holds: RegExp;
};

export const marks: Readonly<Record<string, Mark>> = {
  systemd: {
    why: 'it speaks to systemd, which is the first process of no test',
    holds: /systemctl|journalctl|systemd|loginctl/,
  },
  account: {
    why: "it needs an account of a platform, or a vendor's key",
    holds: /_TOKEN|_KEY|pair/,
  },
  'other-os': {
    why: 'it is for macOS or Windows',
    holds: /darwin|win-x64|\.exe|xattr|codesign|brew/,
  },
  docker: { why: 'it needs a runtime of containers', holds: /docker|podman|buildah/ },
  debian: {
    why: "it changes the system; the package's own smoke test runs its like",
    holds: /\.deb|apt|dpkg|\/etc\/|\/var\/|\/usr\/share\/doc|postgresql|nginx/,
  },
  network: {
    why: 'it fetches something, or asks another machine',
    holds: /https:|npm (?:install|ci)|pip install|ollama pull|apt|ssh|[A-Z]+_HOST|192\.168|\.tgz/,
  },
  checkout: { why: 'it builds the checkout or tests it', holds: /npm |node bench/ },
  terminal: {
    why: 'it asks at a terminal; the test of the first run answers it',
    holds: /svc (?:init|chat|desktop|secrets set)/,
  },
  apart: { why: 'a test of its own runs it', holds: /./ },
};

/** For pages with blocks marked `apart` or `terminal`: the test, and words in it. */
export const testsOf: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'README.md': ['test/cli/init.slow.test.ts', 'a webhook: the model answers'],
  'docs/get-started/desktop.md': ['test/desktop/shell.slow.test.ts', 'desktop'],
  'docs/get-started/discord.md': ['test/documents/first-run.slow.test.ts', 'discord.md'],
  'docs/get-started/first-run-page.md': ['src/cli/init/browser.test.ts', 'browser'],
  'docs/get-started/first-run.md': ['test/cli/init.slow.test.ts', 'from nothing to an answer'],
  'docs/get-started/telegram.md': ['test/documents/first-run.slow.test.ts', 'telegram.md'],
  'docs/get-started/webhook.md': ['test/documents/first-run.slow.test.ts', 'webhook.md'],
  'docs/how-to/answer-by-hand.md': ['test/conversations/takeover.test.ts', 'hanging model'],
  'docs/reference/admin.md': ['test/documents/names.test.ts', 'docs/reference/admin.md'],
  'docs/reference/command-line.md': ['test/approvals/command.test.ts', 'once it is approved'],
  'examples/many/README.md': ['test/examples/many-postgres.test.ts', 'three'],
};

/**
 * Not a reason, but an action of the reader before the block: Ctrl-C in the terminal of svc. The
 * page says so.
 */
export const stopped = 'stopped';

/** The reader has opened another terminal, without the variables exported before. */
export const fresh = 'fresh';
const done: ReadonlySet<string> = new Set([stopped, fresh]);

/** A sentence about a fault in the words after a fence; null: no fault. */
export function faultOf({ info, text }: Block): string | null {
  const [, ...words] = info;
  const unknown = words.filter((word) => !done.has(word) && !Object.hasOwn(marks, word));
  if (unknown.length > 0) return `${unknown.join(' ')} is no mark`;
  const given = words.filter((word) => !done.has(word));
  if (given.length > 1) return `one mark is enough: ${given.join(' ')}`;
  const [mark] = given;
  if (mark === undefined || marks[mark]!.holds.test(text)) return null;
  return `nothing in it needs ${mark}`;
}

/** Whether the block runs with its page. */
export const isRun = ({ info }: Block): boolean => info.slice(1).every((word) => done.has(word));
