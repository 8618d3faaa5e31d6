/**
 * The near side, in namespaces of its own: `inside.ts <count> <seed> <capture> <folder>`. It sends
 * its finding to its parent process, and ends with it.
 */
import { expectedNames, vendor } from './lies.ts';
import { far, Network, type Seen } from './network.ts';
import { canaries, Suite } from './suite.ts';

/** The finding, or the reason why this machine has no such network. */
export type Finding =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'impossible'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'found';
      readonly texts: number;
      readonly applied: number;
      readonly frames: number;
      readonly dropped: number;
      /** Leaked texts, by kind: the kind stands before the dash. */
      readonly leaked: readonly string[];
      readonly astray: readonly string[];
      /** The number of public texts, and how many of them were seen to leave. */
      readonly open: number;
      readonly openSeen: number;
      /** Unexpected connections and names. */
      readonly unlisted: readonly string[];
    };

const [count, seed, capture, folder] = process.argv.slice(2) as [string, string, string, string];
const tell = (finding: Finding): void => void process.send!(finding);
const whyOf = (error: unknown): string => String(error instanceof Error ? error.message : error);

const network = await Network.make(folder, capture).catch(async (error: unknown) => {
  const impossible: Finding = { kind: 'impossible', why: whyOf(error) };
  await new Promise((resolve) => process.send!(impossible, resolve));
  process.exit();
});
const suite = await Suite.open(network, Number(seed));
process.on('disconnect', () => {
  suite.kill();
  process.exit();
});
try {
  await suite.run(Number(count), (line) => tell({ kind: 'line', line }));
  tell(found(suite, await network.end()));
} catch (error) {
  tell({ kind: 'failed', why: whyOf(error) });
} finally {
  await suite[Symbol.asyncDispose]();
  await network[Symbol.asyncDispose]();
  process.disconnect?.();
}

function found({ said, astray, applied }: Suite, seen: Seen): Finding {
  const { frames, dropped, texts, heard } = seen;
  const left = new Set([...texts, ...heard].flatMap((text) => text.match(canaries) ?? []));
  const open = said.filter((text) => text.startsWith('open-'));
  return {
    kind: 'found',
    texts: said.length,
    applied,
    frames,
    dropped,
    leaked: said.filter((text) => left.has(text) && !text.startsWith('open-')),
    astray,
    open: open.length,
    openSeen: open.filter((text) => left.has(text)).length,
    unlisted: unlistedOf(seen),
  };
}

function unlistedOf({ contacts, names, unknown }: Seen): readonly string[] {
  const listed = new Set([`tcp ${vendor.address}:80`, `udp ${far.four}:53`]);
  const strange = [...names].filter((name) => {
    return !expectedNames.some((one) => name === one || name.endsWith(`.${one}`));
  });
  return [
    ...[...contacts.keys()].filter((contact) => !listed.has(contact)),
    ...strange.map((name) => `name ${name}`),
    ...unknown,
  ];
}
