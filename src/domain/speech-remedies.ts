/** What the operator can do about a speech server that writes nothing down. */
import type { FailureKind } from './failure.ts';

const away = 'Start the speech server, or look at speech.base_url.';

const remedies: Partial<Record<FailureKind, string>> = {
  connect_failed: away,
  connect_timeout: away,
  not_found:
    'Write speech.base_url with the /v1 that most servers want (whisper.cpp: --inference-path ' +
    '/v1/audio/transcriptions), and in speech.model a model that the server has.',
  unauthorized: 'svc sends no key: let the speech server take requests without one.',
  rejected: 'See that the server takes the format of voice messages: whisper.cpp wants --convert.',
  redirected: 'Write the address that it leads to into speech.base_url.',
  server_error: "Look into the speech server's log.",
  overloaded: 'Wait until it has started, or give it less to do.',
  rate_limited: 'Give it less to do.',
  malformed_answer: 'Look at speech.base_url: what answers there may be no speech server.',
  timeout:
    'Take a smaller model or a faster machine, or raise deadline_seconds of the brain: half of ' +
    'it is for what is spoken.',
  far_address: 'Write an address of this machine or of a private network into speech.base_url.',
};

export function speechRemedy(kind: FailureKind): string {
  return remedies[kind] ?? away;
}
