import { create } from 'zustand';

const useAnnounced = create<{ readonly text: string }>(() => ({ text: '' }));

/** Says to people who cannot see it that something was done. */
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
