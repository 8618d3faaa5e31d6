import { channelName } from '../../../src/channels/registry.ts';
import { visible } from '../../kit/visible.ts';
import { ConfirmedDelete } from '../conversations/confirmed.tsx';

type Props = {
  /** The channel's key or registered name. */
  readonly channel: string;
  readonly sender: { readonly id: string; readonly name?: string | null };
  /** @param deleted how many messages svc deleted */
  readonly onDone: (deleted: number) => void;
};

/** Deletes all that svc keeps of one person on a channel, after a dialog that says what goes. */
export function ForgetPerson({ channel, sender: { id, name = null }, onDone }: Props) {
  const who = visible(name ?? id);
  return (
    <ConfirmedDelete
      label="Forget this person"
      question={`Forget ${who}?`}
      path={`senders/${encodeURIComponent(channel)}/${encodeURIComponent(id)}`}
      onDone={onDone}
    >
      <p>
        svc deletes everything that {who} wrote on {channelName(channel)}: messages with their
        attachments, traces, calls of tools and dead letters, the answers to them, and their spend.
        In these conversations it also deletes every note. Nothing of it can be brought back.
      </p>
      <p>
        Answers to other people stay, even if they repeat these words. So do earlier backups, and a
        row in the audit. Whoever was let in stays let in.
      </p>
    </ConfirmedDelete>
  );
}
