/** Which dialog is open over the page. */
import { create } from 'zustand';

type Overlay = 'palette' | 'keys' | 'leaving';

/** The dialog that is open over the page. */
export const useOverlay = create<{ readonly open: Overlay | null }>(() => ({ open: null }));

export function openOverlay(open: Overlay): void {
  useOverlay.setState({ open });
}

export function closeOverlay(): void {
  useOverlay.setState({ open: null });
}
