import type { Apology } from '../domain/decision.ts';

/**
 * What a sender is told when there is no model's answer. The sentences name no provider and no
 * reason from inside: the reason is in the trace. They are sent, but are not history.
 */
export const sentences: Readonly<Record<Apology, string>> = {
  no_consensus:
    'I found more than one answer to this and they do not agree, so I would rather not guess. ' +
    'Asking in other words may help.',
  busy: 'I am busy or still starting up. Please try again in a little while.',
  no_answer:
    'Sorry, I have no answer right now. ' +
    'If this keeps happening, please tell the person who runs this service.',
  fault: 'Sorry, something went wrong here. Please send your message again.',
};
