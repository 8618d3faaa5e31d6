/** Announcements for screen readers. */
import { create } from 'zustand';

const useAnnounced = create<{ readonly text: string }>(() => ({ text: '' }));

/** Announces to screen readers that something was done. */
export function announce(text: string): void {
  useAnnounced.setState({ text });
}

export function Announcer() {
  const text = useAnnounced((state) => state.text);
  return (
    <p role="status" className="sr-only">
      {text}
    </p>
  );
}
