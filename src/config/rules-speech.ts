/** Where what is spoken on a messenger goes to be written down. */
import { isLoopbackHost, parseWebAddress } from './address.ts';
import { rangeOf } from '../lib/address-range.ts';
import { checkEncrypted } from './not-encrypted.ts';
import type { ProblemList } from './problems.ts';
import type { ChannelDraft, DraftDocument } from './schema.ts';
import { isVendorHost } from './vendor-hosts.ts';

/**
 * Where a private brain answers, what is spoken stays near: as with its models an error only where
 * it is certain. What is connected to is looked at once more, at each request.
 */
export function checkSpeech(
  { type, speech }: ChannelDraft,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  const url = speech?.base_url;
  const host = url == null ? undefined : parseWebAddress(url)?.host;
  if (host === undefined || isLoopbackHost(host)) return;
  const at = `${path}.speech.base_url`;
  if (!isAnsweredPrivately(type, document)) {
    checkEncrypted(url, 'what people say', at, problems);
  } else if (isVendorHost(host) || rangeOf(host.replace(/^::ffff:(?=.*\.)/i, '')) === 'public') {
    const message = `a private brain answers here, and ${host} is public`;
    const remedy = 'Write the address of a speech server that runs here, or remove "speech".';
    problems.add('speech_far', at, message, remedy);
  } else {
    const message = 'a private brain answers here, and what is spoken goes to another machine';
    const remedy = 'Use an address of this machine, unless that machine is yours to trust.';
    problems.add('speech_elsewhere', at, message, remedy);
  }
}

function isAnsweredPrivately(type: ChannelDraft['type'], document: DraftDocument): boolean {
  const named = (document.routes ?? []).filter((route) => route?.channel === type);
  return named.some((route) => {
    const brain = (document.brains ?? []).find((one) => one?.name === route?.brain);
    return brain?.sensitivity === 'private';
  });
}
