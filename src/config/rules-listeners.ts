/** Where a configuration listens: what is odd or impossible about its addresses together. */
import { kindOf } from '../channels/registry.ts';
import { isBrowserRefused, meet, parseListenAddress } from './address.ts';
import type { ListenAddress } from './config.ts';
import { addressFlags, type OwnAddresses } from './own-addresses.ts';
import type { ProblemList } from './problems.ts';
import type { DraftDocument } from './schema.ts';

/** More listeners need not all be compared: a second webhook is a problem of its own. */
const takenMax = 10;

/** A channel of a kind that listens, by the block that says where. */
type ListenerDraft = Readonly<Record<string, { readonly bind?: string } | null | undefined>>;

type Place = {
  /** Of the field, also where a flag stands in for it. */
  readonly path: string;
  /** What listens there. */
  readonly what: string;
  /** null: the field is wrong, and a problem has been added. */
  readonly address: ListenAddress | null;
  /** null: the field holds. */
  readonly flag: string | null;
};

export function checkListeners(
  document: DraftDocument,
  own: OwnAddresses,
  problems: ProblemList,
): void {
  const taken: (Place & { readonly address: ListenAddress })[] = [];
  for (const place of placesOf(document, own)) {
    const { address, path, what, flag } = place;
    if (address === null) continue;
    const by = flag === null ? '' : ` (${flag})`;
    if (!address.loopback) {
      const message = `other machines can reach ${what}${by}, and nothing encrypts what they send`;
      const remedy = 'Bind to 127.0.0.1, with a reverse proxy that terminates TLS in front.';
      problems.add('not_loopback', path, message, remedy);
    }
    if (isBrowserRefused(address.port)) {
      const message = `browsers refuse to connect to port ${address.port}${by}`;
      problems.add('browser_port', path, message, 'Choose another port.');
    }
    const other = taken.slice(0, takenMax).find((one) => meet(one.address, address));
    if (other !== undefined) {
      const flags = [other.flag, flag].filter((one) => one !== null);
      const said = flags.length === 0 ? '' : ` (${flags.join(', ')})`;
      const message = `the webhook and the admin server would listen on one address${said}`;
      problems.add('address_twice', path, message, 'Give one of them another port.');
    }
    taken.push({ ...place, address });
  }
  checkOwn(document, own, problems);
}

function placesOf({ channels, observability }: DraftDocument, own: OwnAddresses): Place[] {
  const places: Place[] = [];
  for (const [index, channel] of (channels ?? []).entries()) {
    const listener = channel?.type && kindOf(channel.type).listener;
    if (!listener) continue;
    const { bind } = (channel as ListenerDraft)[listener.block] ?? {};
    const path = `channels[${index}].${listener.block}.bind`;
    places.push({ path, what: `the ${channel.type}`, ...placed('webhook', own, bind) });
  }
  if (observability?.enabled === true) {
    const at = placed('admin', own, observability.addr);
    places.push({ path: 'observability.addr', what: 'the admin server', ...at });
  }
  return places;
}

function placed(
  which: keyof OwnAddresses,
  own: OwnAddresses,
  text: string | undefined,
): Pick<Place, 'address' | 'flag'> {
  const address = own[which];
  if (address !== null) return { address, flag: addressFlags[which] };
  return { address: text === undefined ? null : parseListenAddress(text, true), flag: null };
}

/** Flags that nothing heeds. */
function checkOwn(
  { channels, observability }: DraftDocument,
  { webhook, admin }: OwnAddresses,
  problems: ProblemList,
): void {
  const listens = channels?.some((one) => one?.type === undefined || kindOf(one.type).listener);
  if (webhook !== null && listens === false) {
    const message = `no channel listens, and ${addressFlags.webhook} has no effect`;
    problems.add('flag_unused', 'channels', message, 'Leave the flag out, or add a webhook.');
  }
  if (admin !== null && observability?.enabled === false) {
    const message = `the admin server is off, and ${addressFlags.admin} does not switch it on`;
    const remedy = 'Leave the flag out, or set observability.enabled to true.';
    problems.add('flag_unused', 'observability.enabled', message, remedy);
  }
}
