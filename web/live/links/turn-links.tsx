/** Links of a turn, and the turn in the URL. */
import { Link } from '../../kit/link.tsx';
import { usePlace } from '../../kit/place.ts';
import { deliveriesPlace, messagePlace } from './places.ts';

/** Links from a turn to the message that it answers, and to the deliveries of its reply. */
export function TurnLinks({ message }: { readonly message: string | null }) {
  if (message === null) return null;
  return (
    <span className="flex flex-wrap gap-x-4">
      <Link to={messagePlace(message)}>Message</Link>
      <Link to={deliveriesPlace(message)}>Deliveries</Link>
    </span>
  );
}

/** The turn in the page's URL; null: none. */
export function useNamedTurn(): string | null {
  return usePlace()['turn'] ?? null;
}
