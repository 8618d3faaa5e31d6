import { themes, useTheme, type Theme } from './theme.ts';

/** A half moon, a sun and a moon, on a grid of 24. */
const icons: Readonly<Record<Theme, string>> = {
  system: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v3m0 14v3M2 12h3m14 0h3M5 5l2 2m10 10 2 2',
  dark: 'M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z',
};

/** Goes from the system's theme to light, to dark, and back. */
export function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button
      type="button"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}. Press for ${next}.`}
      onClick={() => setTheme(next)}
      className="grid size-7 place-items-center rounded-md text-soft hover:bg-raised hover:text-ink"
    >
      <svg
        viewBox="0 0 24 24"
        aria-hidden="true"
        className="size-4.5 fill-none stroke-current stroke-2"
      >
        <path d={icons[theme]} className={theme === 'system' ? '[fill-opacity:0.4]' : ''} />
      </svg>
    </button>
  );
}
